// SPDX-License-Identifier: Apache-2.0
/* Engine `xdp`: the forwarder in the driver's receive path, frames returned by XDP_TX. */
#include "../common/table.bpf.h"
#include "xdp.bpf.h"

TABLE(counters, BPF_MAP_TYPE_PERCPU_ARRAY, 1, __u32, struct fwd_counters, 0);

/* By place of a path in known_paths. */
TABLE(path_packets, BPF_MAP_TYPE_PERCPU_ARRAY, FWD_MAX_PATHS, __u32, __u64, 0);

/* Paths that have a counter; 0: free. A hash table with open addressing: the kernel's hash maps
 * cost more per packet than all else that is done here. */
fwd_path known_paths[FWD_MAX_PATHS];

/* Return the place of a path, which a new one takes here; -1 if all places are taken. */
static __always_inline int place_of(fwd_path path)
{
	__u32 hash = path * 0x9e3779b1U >> 16;

	for (__u32 i = 0; i < FWD_MAX_PATHS; i++) {
		__u32 place = (hash + i) % FWD_MAX_PATHS;
		fwd_path there = known_paths[place];

		if (there == path)
			return (int)place;
		if (there)
			continue;
		/* Another CPU may take it first, even for the same path. */
		there = __sync_val_compare_and_swap(&known_paths[place], 0, path);
		if (there == 0 || there == path)
			return (int)place;
	}
	return -1;
}

/* Count a forwarded packet for its path. */
static __always_inline void count_path(fwd_path path, struct fwd_counters *totals)
{
	int place = place_of(path);
	__u64 *packets = bpf_map_lookup_elem(&path_packets, &place); /* NULL for -1 */

	if (packets)
		(*packets)++;
	else
		totals->paths_untracked++;
}

/* Forwards a frame, drops it, or passes it to the kernel, and counts it. */
SEC("xdp")
int forward(struct xdp_md *context)
{
	struct fwd_counters *totals;
	__u32 only = 0;
	fwd_path path;
	int action;

	totals = bpf_map_lookup_elem(&counters, &only);
	if (!totals)
		return XDP_ABORTED;
	action = fwd_action(fwd_count((void *)(long)context->data, (void *)(long)context->data_end,
				      totals->verdicts, &path));
	if (action == XDP_TX)
		count_path(path, totals);
	return action;
}

char LICENSE[] SEC("license") = "Apache-2.0";
