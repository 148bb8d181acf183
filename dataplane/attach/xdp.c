// SPDX-License-Identifier: Apache-2.0
/* Finds, attaches and replaces the XDP program of an interface. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>

#include "link.h"
#include "xdp.h"

/* Return the id of an interface's XDP program, and let `mode` have how it is attached; 0: there
 * is none. */
static __u32 query(int ifindex, __u32 *mode)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, facts);

	if (bpf_xdp_query(ifindex, 0, &facts))
		return 0;
	*mode = facts.attach_mode == XDP_ATTACHED_SKB  ? XDP_FLAGS_SKB_MODE
		: facts.attach_mode == XDP_ATTACHED_HW ? XDP_FLAGS_HW_MODE
						       : XDP_FLAGS_DRV_MODE;
	return facts.prog_id;
}

bool has_xdp(int ifindex)
{
	__u32 mode;

	return query(ifindex, &mode) != 0;
}

int xdp_find(int ifindex, struct xdp_program *found)
{
	__u32 id = query(ifindex, &found->mode);

	return id ? kernel_program_open(id, &found->program) : -ENOENT;
}

int xdp_attach(int ifindex, int program)
{
	return bpf_xdp_attach(ifindex, program, XDP_FLAGS_DRV_MODE | XDP_FLAGS_UPDATE_IF_NOEXIST,
			      NULL);
}

int xdp_replace(int ifindex, const struct xdp_program *found, int program)
{
	LIBBPF_OPTS(bpf_xdp_attach_opts, options, .old_prog_fd = found->program.fd);
	int link, error;

	/* The kernel replaces a program that a link holds only through that link. */
	if (!xdp_links(found->program.id, ifindex, &link, 1))
		return bpf_xdp_attach(ifindex, program, found->mode, &options);
	error = link_replace(link, program, found->program.fd);
	close(link);
	return error;
}

const char *xdp_attach_error(int ifindex, int error)
{
	static char holder[96];
	struct xdp_program found;

	switch (error) {
	case -EOPNOTSUPP:
		return "its driver has no native XDP";
	case -ERANGE:
		return "its MTU, or its peer's, is too large for native XDP";
	case -EBUSY:
	case -EEXIST:
		strcpy(holder, "another XDP program is attached");
		if (xdp_find(ifindex, &found) == 0) {
			sprintf(strchr(holder, '\0'), ": %s (id %u)", found.program.name,
				found.program.id);
			close(found.program.fd);
		}
		return holder;
	default:
		return strerror(-error);
	}
}
