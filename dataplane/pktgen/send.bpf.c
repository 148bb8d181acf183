// SPDX-License-Identifier: Apache-2.0
/* Engine `xdp`: makes a packet of each frame that the kernel hands in (BPF_F_TEST_XDP_LIVE_FRAMES)
 * and redirects it to the interface; a frame for which no packet is due returns to the kernel. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "packet.h"

const volatile struct pktgen_settings settings;
struct pktgen_state state;
struct pktgen_pick picks[PKTGEN_PICKS];

SEC("xdp")
int send(struct xdp_md *context)
{
	const struct pktgen_settings *asked = (const struct pktgen_settings *)&settings;
	struct pktgen_packet *packet;
	__u64 now = bpf_ktime_get_ns();
	__u32 flow, size;

	/* The compiler must not take the settings for what they are here, zero. */
	asm volatile("" : "+r"(asked));
	if (!pktgen_due(asked, &state, now))
		return XDP_DROP;
	flow = pktgen_flow(asked, &state, picks);
	size = pktgen_size(asked, &state);
	if (size < asked->longest && bpf_xdp_adjust_tail(context, (int)size - (int)asked->longest))
		return XDP_ABORTED;
	packet = (void *)(long)context->data;
	if ((void *)(packet + 1) > (void *)(long)context->data_end)
		return XDP_ABORTED;
	pktgen_write(packet, asked, size, (__u32)state.packets, flow, now);
	state.packets++;
	state.bytes += size;
	state.last_ns = now;
	return (int)bpf_redirect(asked->interface, 0);
}

char LICENSE[] SEC("license") = "Apache-2.0";
