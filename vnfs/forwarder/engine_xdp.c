// SPDX-License-Identifier: Apache-2.0
/* Engine `xdp`: loads forwarder.bpf.c and reads its maps. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>

#include "../common/libbpf_log.h"
#include "../common/report.h"
#include "engine.h"
#include "forwarder.skel.h"

static struct forwarder_bpf *skeleton;
static int link_fd = -1;
static int possible_cpus;
static struct fwd_counters *counters_per_cpu;
static __u64 *packets_per_cpu;

static const char *attach_error(int error)
{
	switch (error) {
	case EOPNOTSUPP:
		return "its driver has no native XDP; use --engine userspace";
	case ERANGE:
		return "its MTU, or its peer's, is too large for native XDP; use --engine "
		       "userspace";
	case EBUSY:
	case EEXIST:
		return "another XDP program is attached";
	default:
		return strerror(error);
	}
}

/* A link holds the program only as long as this process lives: a crash leaves nothing attached. */
static int attach(const struct interface *interface)
{
	LIBBPF_OPTS(bpf_link_create_opts, options, .flags = XDP_FLAGS_DRV_MODE);

	link_fd = bpf_link_create(bpf_program__fd(skeleton->progs.forward), interface->index,
				  BPF_XDP, &options);
	if (link_fd < 0) {
		complain("cannot attach to %s: %s", interface->name, attach_error(-link_fd));
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
	possible_cpus = libbpf_num_possible_cpus();
	if (possible_cpus < 0) {
		complain("cannot count the CPUs: %s", strerror(-possible_cpus));
		return -1;
	}
	counters_per_cpu = calloc((size_t)possible_cpus, sizeof(*counters_per_cpu));
	packets_per_cpu = calloc((size_t)possible_cpus, sizeof(*packets_per_cpu));
	skeleton = forwarder_bpf__open();
	if (!counters_per_cpu || !packets_per_cpu || !skeleton) {
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

static void read_totals(struct fwd_counters *totals)
{
	__u32 only = 0;

	if (bpf_map_lookup_elem(bpf_map__fd(skeleton->maps.counters), &only, counters_per_cpu))
		return;
	for (int cpu = 0; cpu < possible_cpus; cpu++) {
		for (int i = 0; i < FWD_VERDICTS; i++)
			totals->verdicts[i] += counters_per_cpu[cpu].verdicts[i];
		totals->paths_untracked += counters_per_cpu[cpu].paths_untracked;
	}
}

static void read_counters(struct snapshot *snapshot)
{
	int map = bpf_map__fd(skeleton->maps.paths);
	fwd_path path, *previous = NULL;

	memset(snapshot, 0, sizeof(*snapshot));
	read_totals(&snapshot->totals);
	while (snapshot->path_count < FWD_MAX_PATHS &&
	       bpf_map_get_next_key(map, previous, &path) == 0) {
		struct path_count *count = &snapshot->paths[snapshot->path_count];

		previous = &path;
		if (bpf_map_lookup_elem(map, &path, packets_per_cpu))
			continue;
		count->path = path;
		for (int cpu = 0; cpu < possible_cpus; cpu++)
			count->packets += packets_per_cpu[cpu];
		snapshot->path_count++;
	}
}

static void stop(void)
{
	if (link_fd >= 0)
		bpf_link_detach(link_fd);
}

const struct engine engine_xdp = {
	.name = "xdp",
	.start = start,
	.read = read_counters,
	.stop = stop,
};
