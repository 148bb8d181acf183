// SPDX-License-Identifier: Apache-2.0
/* Counts packets where they arrive, by an XDP program. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>

#include "../attach/link.h"
#include "../attach/xdp.h"
#include "../common/libbpf_log.h"
#include "../common/percpu.h"
#include "../common/report.h"
#include "histogram.h"
#include "receive.skel.h"
#include "receiver.h"

static struct receive_bpf *skeleton;
static const char *attached; /* see receiver_mode() */

/* Attach a program in the driver, or generically where the mode allows that, until the process
 * ends. Where another program is attached, neither works. Returns 0, or -errno. */
static int attach(const struct bpf_program *program, const struct interface *interface, int mode)
{
	int error = -EOPNOTSUPP;

	if (mode != MODE_GENERIC) {
		attached = "native";
		error = xdp_link(interface->index, bpf_program__fd(program), XDP_FLAGS_DRV_MODE);
	}
	if (error < 0 && error != -EBUSY && error != -EEXIST && mode != MODE_NATIVE) {
		attached = "generic";
		error = xdp_link(interface->index, bpf_program__fd(program), XDP_FLAGS_SKB_MODE);
	}
	return error < 0 ? error : 0;
}

/* Load the programs with what they need of the job. Returns 0, or -1 after complain(). */
static int load(const struct job *job)
{
	__u64 duration_ns = (__u64)job->duration_ms * 1000000;
	__u32 parts = (__u32)((duration_ns + PKTGEN_BIN_NS - 1) / PKTGEN_BIN_NS);

	skeleton = receive_bpf__open();
	if (!skeleton) {
		complain("cannot open the XDP programs: %s", strerror(errno));
		return -1;
	}
	skeleton->rodata->run = (__u32)job->run;
	skeleton->rodata->protocol = (__u32)job->protocol;
	skeleton->rodata->port = htons((__u16)job->port);
	skeleton->rodata->bins = parts + 1; /* the last one is for what comes later */
	skeleton->rodata->bin_ns = duration_ns / parts;
	bpf_map__set_max_entries(skeleton->maps.arrivals, parts + 1);
	if (receive_bpf__load(skeleton)) {
		libbpf_complain_of_load("the XDP programs", errno);
		return -1;
	}
	return 0;
}

int receiver_start(const struct job *job, const struct interface *interface)
{
	int error;

	if (load(job))
		return -1;
	error = attach(skeleton->progs.receive, interface, job->mode);
	if (!error)
		return 0;
	complain("cannot attach to %s: %s", interface->name,
		 xdp_attach_error(interface->index, error));
	return -1;
}

int accept_start(const struct interface *interface)
{
	const struct job none = { .duration_ms = 1 }; /* counts nothing; load() needs a duration */
	int error;

	if (load(&none))
		return -1;
	error = attach(skeleton->progs.accept, interface, MODE_NATIVE);
	if (!error)
		return 0;
	if (error == -EBUSY || error == -EEXIST) {
		attached = "other";
		return 0;
	}
	complain("cannot attach to %s: %s", interface->name,
		 xdp_attach_error(interface->index, error));
	return -1;
}

const char *receiver_mode(void)
{
	return attached;
}

static void read_counters(struct pktgen_counters *counters)
{
	percpu_sum(bpf_map__fd(skeleton->maps.counters), 0, counters, sizeof(*counters));
}

__u64 receiver_packets(void)
{
	struct pktgen_counters counters;

	read_counters(&counters);
	return counters.packets - counters.duplicated;
}

/* Print [least, most, packets] for each bucket of latencies that has any; ns. */
static void print_latencies(void)
{
	int map = bpf_map__fd(skeleton->maps.latencies);
	const char *between = "";

	printf(", \"latency_ns\": [");
	for (__u32 bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
		__u64 count;

		if (percpu_sum(map, bucket, &count, sizeof(count)) || !count)
			continue;
		printf("%s[%llu, %llu, %llu]", between, histogram_least(bucket),
		       histogram_least(bucket + 1) - 1, count);
		between = ", ";
	}
	printf("]");
}

/* Print how many packets arrived in each of the equal parts of the duration, and how many later. */
static void print_arrivals(void)
{
	int map = bpf_map__fd(skeleton->maps.arrivals);

	printf(", \"arrivals\": [");
	for (__u32 bin = 0; bin < skeleton->rodata->bins; bin++) {
		__u64 count = 0;

		percpu_sum(map, bin, &count, sizeof(count));
		printf("%s%llu", bin ? ", " : "", count);
	}
	printf("]");
}

void receiver_print(bool all)
{
	struct pktgen_counters counters;

	read_counters(&counters);
	printf("\"received\": {\"mode\": \"%s\", \"packets\": %llu, \"bytes\": %llu, "
	       "\"duplicated\": %llu, \"reordered\": %llu, \"unjudged\": %llu, \"warmup\": %llu",
	       attached, counters.packets, counters.bytes, counters.duplicated, counters.reordered,
	       counters.unjudged, counters.warmup);
	if (all) {
		print_latencies();
		print_arrivals();
	}
	printf("}");
}
