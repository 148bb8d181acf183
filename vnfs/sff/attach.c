// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>

#include "../common/report.h"
#include "attach.h"
#include "sff.h"

#define FILTER_HANDLE 1
#define FILTER_PRIORITY 0x8000 /* behind those of others: nothing comes after it */

static struct place {
	int ifindex; /* 0: free */
	int xdp_fd;
} places[SFF_PORTS + 1];

static const char *xdp_error(int error)
{
	switch (error) {
	case EOPNOTSUPP:
		return "its driver has no native XDP";
	case ERANGE:
		return "its MTU, or its peer's, is too large for native XDP";
	case EBUSY:
	case EEXIST:
		return "another XDP program is attached";
	default:
		return strerror(error);
	}
}

/* In the place of the filter of a process that was killed, if there is one. Not by tcx, each of
 * whose links waits for a grace period of RCU: some 10 ms an interface. */
static int attach_tc(int program, int ifindex)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = BPF_TC_INGRESS);
	LIBBPF_OPTS(bpf_tc_opts, options, .prog_fd = program, .handle = FILTER_HANDLE,
		    .priority = FILTER_PRIORITY, .flags = BPF_TC_F_REPLACE);
	int error = bpf_tc_hook_create(&hook);

	return error && error != -EEXIST ? error : bpf_tc_attach(&hook, &options);
}

/* clsact itself stays: others may use it. */
static void detach_tc(int ifindex)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = BPF_TC_INGRESS);
	LIBBPF_OPTS(bpf_tc_opts, options, .handle = FILTER_HANDLE, .priority = FILTER_PRIORITY);

	bpf_tc_detach(&hook, &options);
}

static void detach(struct place *place)
{
	close(place->xdp_fd);
	detach_tc(place->ifindex);
	place->ifindex = 0;
}

static struct place *find(int ifindex)
{
	for (unsigned int i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (places[i].ifindex == ifindex)
			return &places[i];
	return NULL;
}

int attach(struct sff_bpf *skeleton, const char *name, int ifindex)
{
	LIBBPF_OPTS(bpf_link_create_opts, options, .flags = XDP_FLAGS_DRV_MODE);
	struct place *place = find(ifindex);
	int error;

	if (place)
		return 0;
	place = find(0);
	place->xdp_fd =
		bpf_link_create(bpf_program__fd(skeleton->progs.sff), ifindex, BPF_XDP, &options);
	if (place->xdp_fd < 0) {
		complain("cannot attach to %s: %s", name, xdp_error(-place->xdp_fd));
		return -1;
	}
	place->ifindex = ifindex;
	error = attach_tc(bpf_program__fd(skeleton->progs.output), ifindex);
	if (error) {
		complain("cannot attach to tc on %s: %s", name, strerror(-error));
		close(place->xdp_fd);
		place->ifindex = 0;
		return -1;
	}
	return 0;
}

void attach_only(const int *ifindexes, unsigned int count)
{
	for (unsigned int i = 0; i < sizeof(places) / sizeof(*places); i++) {
		unsigned int kept = 0;

		while (kept < count && ifindexes[kept] != places[i].ifindex)
			kept++;
		if (places[i].ifindex && kept == count)
			detach(&places[i]);
	}
}
