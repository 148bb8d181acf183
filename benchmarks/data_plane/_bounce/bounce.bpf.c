// SPDX-License-Identifier: Apache-2.0
/* The least that a function in XDP can do with frames: send each one back as it is. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define HEADER 22 /* Ethernet and the first words of the NSH, which functions change */

struct {
	int interface;
	char header[HEADER];
	long received;
} what;

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} exits SEC(".maps");

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
int hand_on(struct xdp_md *context)
{
	(void)context;
	return (int)bpf_redirect_map(&exits, 0, 0);
}

SEC("xdp")
int drop(struct xdp_md *context)
{
	(void)context;
	__sync_fetch_and_add(&what.received, 1);
	return XDP_DROP;
}

char LICENSE[] SEC("license") = "Apache-2.0";
