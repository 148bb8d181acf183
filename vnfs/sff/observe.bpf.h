/* SPDX-License-Identifier: Apache-2.0 */
/* Where sfc-sfcmon comes in. */
#pragma once

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define SFF_PATH_IN_FRAME 0 /* the frame has an NSH, or should have one */

/* A frame before its lookup, as it came in, and its SPI << 8 | SI if it has no NSH of its own. This does
 * nothing, until another BPF program takes its place (BPF_PROG_TYPE_EXT). */
__noinline int sff_observe(struct xdp_md *ctx, __u32 path)
{
	/* Without it, clang would see that nothing happens here, and leave the call out. */
	asm volatile("" : : "r"(ctx), "r"(path));
	return 0;
}
