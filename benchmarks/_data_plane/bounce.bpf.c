// SPDX-License-Identifier: Apache-2.0
/* The least that a function in XDP can do with frames: send each one back as it is. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define HEADER 22 /* Ethernet and the first words of the NSH, which functions change */

struct {
	int interface;
	char header[HEADER];
} what;

SEC("xdp")
int send(struct xdp_md *context)
{
	char *start = (void *)(long)context->data;

	/* Frames are used again, with what functions made of them. */
	if (start + HEADER > (char *)(long)context->data_end)
		return XDP_DROP;
	__builtin_memcpy(start, what.header, HEADER);
	return (int)bpf_redirect(what.interface, 0);
}

SEC("xdp")
int reflect(struct xdp_md *context)
{
	(void)context;
	return XDP_TX;
}

SEC("xdp")
int drop(struct xdp_md *context)
{
	(void)context;
	return XDP_DROP;
}

char LICENSE[] SEC("license") = "Apache-2.0";
