// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>

#include "../common/report.h"
#include "../common/tc_filter.h"
#include "../common/xdp.h"
#include "attach.h"
#include "entries.h"

#define FILTER_PRIORITY 0x8000 /* behind those of others: nothing comes after it */

static struct place {
	int ifindex; /* 0: free */
	int xdp_fd;
} places[SFF_PORTS + 1];

static void detach(struct place *place)
{
	close(place->xdp_fd);
	tc_detach(place->ifindex, FILTER_PRIORITY);
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
		complain("cannot attach to %s: %s", name, xdp_attach_error(-place->xdp_fd));
		return -1;
	}
	place->ifindex = ifindex;
	error = tc_attach(ifindex, FILTER_PRIORITY, bpf_program__fd(skeleton->progs.output));
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
