// SPDX-License-Identifier: Apache-2.0
/* The least that sending frames of XDP can cost: each one goes to the interface as it is, and its
 * other end drops it. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

int interface;

SEC("xdp")
int send(struct xdp_md *context)
{
	(void)context;
	return (int)bpf_redirect(interface, 0);
}

SEC("xdp")
int drop(struct xdp_md *context)
{
	(void)context;
	return XDP_DROP;
}

char LICENSE[] SEC("license") = "Apache-2.0";
