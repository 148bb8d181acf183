// SPDX-License-Identifier: Apache-2.0
/* Counts the packets of a run where they arrive, and takes them; all others pass to the stack. */
#include "../common/table.bpf.h"
#include "histogram.h"
#include "packet.h"

TABLE(counters, BPF_MAP_TYPE_PERCPU_ARRAY, 1, __u32, struct pktgen_counters, 0);

TABLE(latencies, BPF_MAP_TYPE_PERCPU_ARRAY, HISTOGRAM_BUCKETS, __u32, __u64, 0);

/* Packets, none of them twice, by when they arrived after the first one: a bin for each
 * part of the duration, and one for what came later; the tool sets how many. */
TABLE(arrivals, BPF_MAP_TYPE_PERCPU_ARRAY, 1, __u32, __u64, 0);

const volatile __u32 run; /* even, without the bit of its warm-up */
const volatile __u32 protocol; /* IPPROTO_* */
const volatile __u16 port; /* big-endian */
const volatile __u32 bins; /* of `arrivals`, with the one for what came later */
const volatile __u64 bin_ns = 1;

__u64 first_ns; /* when the first packet arrived; 0: none has */
__u32 seen[PKTGEN_WINDOW]; /* at sequence % PKTGEN_WINDOW: the last one that came, plus 1 */
__u32 newest[PKTGEN_PICKS]; /* of each flow: the sequence number expected at least (NextExp) */

enum novelty { FRESH, DUPLICATE, UNKNOWN };

/* Say whether a packet came before, by the last PKTGEN_WINDOW packets. UNKNOWN: a later packet has
 * taken its place in `seen`. */
static __always_inline enum novelty judge(__u32 sequence)
{
	__u32 *place = &seen[sequence & (PKTGEN_WINDOW - 1)];
	__u32 mark = sequence + 1, before;

	if (*place && (__s32)(*place - mark) > 0)
		return UNKNOWN;
	/* Another CPU may take the same packet's copy at the same time. */
	before = __sync_lock_test_and_set(place, mark);
	return before == mark ? DUPLICATE : FRESH;
}

/* RFC 4737 section 3.3: a packet is reordered when its number is less than NextExp, which this
 * function also updates. A flow's packets have growing numbers, though not successive ones. */
static __always_inline int is_reordered(const struct pktgen_stamp *stamp)
{
	__u32 flow = stamp->flow, *expected;

	/* Keeps the mask below: the compiler knows that a flow has 16 bits, the verifier of Linux
	 * 6.1 does not. */
	asm volatile("" : "+r"(flow));
	expected = &newest[flow & (PKTGEN_PICKS - 1)];
	if ((__s32)(stamp->sequence - *expected) < 0)
		return 1;
	*expected = stamp->sequence + 1;
	return 0;
}

/* Count one more at this place of a map. */
static __always_inline void count_in(void *map, __u32 key)
{
	__u64 *count = bpf_map_lookup_elem(map, &key);

	if (count)
		(*count)++;
}

/* Count a packet in its bin of `arrivals`. */
static __always_inline void count_arrival(__u64 now)
{
	__u64 first = first_ns, bin;

	if (!first)
		first = __sync_val_compare_and_swap(&first_ns, 0, now) ?: now;
	/* Another CPU's first packet may be a little younger. */
	bin = now > first ? (now - first) / bin_ns : 0;
	count_in(&arrivals, bin < bins ? (__u32)bin : bins - 1);
}

/* Counts and takes the packets of the run and of its warm-up. */
SEC("xdp")
int receive(struct xdp_md *context)
{
	void *start = (void *)(long)context->data, *end = (void *)(long)context->data_end;
	__u64 now = bpf_ktime_get_ns();
	struct pktgen_counters *totals;
	struct pktgen_stamp stamp;
	__u32 only = 0;

	if (!pktgen_read(start, end, protocol, port, now, &stamp) ||
	    (stamp.run | PKTGEN_WARMUP) != (run | PKTGEN_WARMUP))
		return XDP_PASS;
	totals = bpf_map_lookup_elem(&counters, &only);
	if (!totals)
		return XDP_ABORTED;
	if (stamp.run != run) {
		totals->warmup++;
		return XDP_DROP;
	}
	totals->packets++;
	totals->bytes += (__u64)(end - start);
	switch (judge(stamp.sequence)) {
	case DUPLICATE:
		totals->duplicated++;
		return XDP_DROP;
	case UNKNOWN:
		totals->unjudged++;
		break;
	case FRESH:
		break;
	}
	if (is_reordered(&stamp))
		totals->reordered++;
	count_arrival(now);
	count_in(&latencies, histogram_bucket(stamp.age_ns));
	return XDP_DROP;
}

/* For the other end of the sender's veth: frames redirected to a veth arrive only where an XDP
 * program is attached, whatever it does. */
SEC("xdp")
int accept(struct xdp_md *context)
{
	(void)context;
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Apache-2.0";
