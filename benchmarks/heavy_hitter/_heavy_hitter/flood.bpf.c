// SPDX-License-Identifier: Apache-2.0
/* Frames of several flows, as fast as they can be made, and the least that can count answers. */
#include <linux/bpf.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define HEADER 22 /* Ethernet and an NSH without metadata, which functions change */
#define SOURCE_PORT_AT (HEADER + 20)
#define FIRST_PORT 1024

struct {
	int interface;
	unsigned int flows;
	unsigned long sent, received;
	char header[HEADER];
} what;

SEC("xdp")
int send(struct xdp_md *context)
{
	char *start = (void *)(long)context->data;

	/* Frames are used again, with what functions made of them. */
	if (start + SOURCE_PORT_AT + 2 > (char *)(long)context->data_end || !what.flows)
		return XDP_DROP;
	__builtin_memcpy(start, what.header, HEADER);
	*(unsigned short *)(start + SOURCE_PORT_AT) =
		bpf_htons((unsigned short)(FIRST_PORT + what.sent++ % what.flows));
	return (int)bpf_redirect(what.interface, 0);
}

SEC("xdp")
int drop(struct xdp_md *context)
{
	(void)context;
	__sync_fetch_and_add(&what.received, 1);
	return XDP_DROP;
}

/* A veth takes frames of XDP only if its other end has a program. */
SEC("xdp")
int pass(struct xdp_md *context)
{
	(void)context;
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Apache-2.0";
