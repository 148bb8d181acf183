// SPDX-License-Identifier: Apache-2.0
/* Attaches programs by links: XDP and tcx. */
#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "link.h"

/* Values of enum bpf_attach_type, and a flag: they came with Linux 6.6, after the headers of
 * Debian 12. */
#define TCX_TYPE(direction) ((enum bpf_attach_type)((direction) == AT_INGRESS ? 46 : 47))
#define TCX_BEFORE (1U << 3)

int xdp_link(int ifindex, int program, __u32 mode)
{
	LIBBPF_OPTS(bpf_link_create_opts, options, .flags = mode);

	return bpf_link_create(program, ifindex, BPF_XDP, &options);
}

unsigned int xdp_links(__u32 program_id, int ifindex, int *links, unsigned int most)
{
	unsigned int count = 0;
	__u32 id = 0;

	while (count < most && bpf_link_get_next_id(id, &id) == 0) {
		struct bpf_link_info facts = { 0 };
		__u32 bytes = sizeof(facts);
		int fd = bpf_link_get_fd_by_id(id);

		if (fd < 0)
			continue;
		if (bpf_obj_get_info_by_fd(fd, &facts, &bytes) == 0 &&
		    facts.type == BPF_LINK_TYPE_XDP && facts.prog_id == program_id &&
		    (!ifindex || (int)facts.xdp.ifindex == ifindex))
			links[count++] = fd;
		else
			close(fd);
	}
	return count;
}

int load_probe(void)
{
	/* It returns TC_ACT_UNSPEC, so that other programs decide. */
	const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = -1 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "probe", "Dual MIT/GPL", code, 2, NULL);

	return fd < 0 ? -errno : fd;
}

/* Attach to an interface that does not exist. Only a kernel that knows the hook looks for the
 * interface, and fails with ENODEV. */
bool tcx_works(void)
{
	int program = load_probe();
	int link;

	if (program < 0)
		return false;
	link = tcx_link(INT_MAX, AT_INGRESS, program, TCX_LAST);
	close(program);
	if (link >= 0)
		close(link);
	return link >= 0 || link == -ENODEV;
}

int tcx_link(int ifindex, enum direction direction, int program, enum tcx_order order)
{
	LIBBPF_OPTS(bpf_link_create_opts, options, .flags = order == TCX_FIRST ? TCX_BEFORE : 0);

	return bpf_link_create(program, ifindex, TCX_TYPE(direction), &options);
}

int link_replace(int link, int program, int old)
{
	LIBBPF_OPTS(bpf_link_update_opts, options, .flags = BPF_F_REPLACE,
		    .old_prog_fd = (__u32)old);

	return bpf_link_update(link, program, &options);
}

void link_detach(int link)
{
	bpf_link_detach(link);
	close(link);
}
