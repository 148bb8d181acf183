// SPDX-License-Identifier: Apache-2.0
/* Engine `xdp`: loads forwarder.bpf.c and reads its maps. */
#include <errno.h>
#include <string.h>

#include <bpf/libbpf.h>
#include <linux/if_link.h>

#include "../attach/link.h"
#include "../attach/xdp.h"
#include "../common/libbpf_log.h"
#include "../common/percpu.h"
#include "../common/report.h"
#include "engine.h"
#include "forwarder.skel.h"

static struct forwarder_bpf *skeleton;
static int link_fd; /* of the link that attaches the program */

/* Attach the program in the driver. Returns 0, or -1 after complain(). */
static int attach(const struct interface *interface)
{
	link_fd = xdp_link(interface->index, bpf_program__fd(skeleton->progs.forward),
			   XDP_FLAGS_DRV_MODE);
	if (link_fd < 0) {
		complain("cannot attach to %s: %s%s", interface->name,
			 xdp_attach_error(interface->index, link_fd),
			 link_fd == -EOPNOTSUPP || link_fd == -ERANGE ? "; use --engine userspace"
								      : "");
		return -1;
	}
	return 0;
}

static int start(const struct interface *interface, const struct cpu_list *cpus)
{
	if (cpus->count > 0) {
		complain("--cpus is for the userspace engine: XDP runs where frames arrive");
		return -1;
	}
	skeleton = forwarder_bpf__open();
	if (!skeleton) {
		complain("cannot open the XDP program: %s", strerror(errno));
		return -1;
	}
	memcpy((void *)skeleton->rodata->own_mac, interface->mac, sizeof(interface->mac));
	if (forwarder_bpf__load(skeleton)) {
		libbpf_complain_of_load("the XDP program", errno);
		return -1;
	}
	return attach(interface);
}

/* Sum the counters of all CPUs, and of each path that was seen. */
static void read_counters(struct snapshot *snapshot)
{
	memset(snapshot, 0, sizeof(*snapshot));
	percpu_sum(bpf_map__fd(skeleton->maps.counters), 0, &snapshot->totals,
		   sizeof(snapshot->totals));
	for (__u32 place = 0; place < FWD_MAX_PATHS; place++) {
		struct path_count *count = &snapshot->paths[snapshot->path_count];

		count->path = __atomic_load_n(&skeleton->bss->known_paths[place], __ATOMIC_RELAXED);
		if (count->path && percpu_sum(bpf_map__fd(skeleton->maps.path_packets), place,
					      &count->packets, sizeof(count->packets)) == 0)
			snapshot->path_count++;
	}
}

static void stop(void)
{
	link_detach(link_fd);
}

const struct engine engine_xdp = {
	.name = "xdp",
	.start = start,
	.read = read_counters,
	.stop = stop,
};
