// SPDX-License-Identifier: Apache-2.0
/* For the SFF's end of a veth: a frame that the other end returns by XDP_TX arrives only where an
 * XDP program is attached, whatever it does. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("xdp")
int pass(struct xdp_md *context)
{
	(void)context;
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Apache-2.0";
