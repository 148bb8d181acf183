/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that are attached by a link: they stay as long as a process, or a pin in a BPF file system,
 * holds the link. Unless it is pinned, nothing stays attached when the process ends, however it does.
 * Functions that return a link return -errno if they fail. */
#pragma once

#include <stdbool.h>

#include <linux/types.h>

#include "hook.h"

/* XDP. `mode`: XDP_FLAGS_DRV_MODE (in the driver) or XDP_FLAGS_SKB_MODE (generic). */
int xdp_link(int ifindex, int program, __u32 mode);

/* Links by which an XDP program is attached, at one interface or (0) at all. How many; up to `most`. */
unsigned int xdp_links(__u32 program_id, int ifindex, int *links, unsigned int most);

/* tcx: verdicts of programs hide packets from those that come after them. */
enum tcx_order {
	TCX_LAST,
	TCX_FIRST,
};

/* Does this kernel have tcx? Needs the permission to load programs. */
bool tcx_works(void);

int tcx_link(int ifindex, enum direction direction, int program, enum tcx_order order);

/* Another program, unless another one than `old` (descriptors) is attached meanwhile. 0, or -errno. */
int link_replace(int link, int program, int old);

/* At once, not when the kernel has time to free the link, which is closed. */
void link_detach(int link);

/* A program of traffic control that does nothing. Descriptor, or -errno. */
int load_probe(void);
