/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that are attached by a link: they stay as long as a process, or a pin in a BPF file
 * system, holds the link. Unless it is pinned, nothing stays attached when the process ends,
 * however it does. Functions that return a link return -errno if they fail. */
#pragma once

#include <stdbool.h>

#include <linux/types.h>

#include "hook.h"

/* Attach an XDP program. `mode`: XDP_FLAGS_DRV_MODE (in the driver) or XDP_FLAGS_SKB_MODE
 * (generic). */
int xdp_link(int ifindex, int program, __u32 mode);

/* Open the links by which an XDP program is attached, at one interface or (0) at all. `links` gets
 * their descriptors, at most `most`, which the caller closes. Returns their number. */
unsigned int xdp_links(__u32 program_id, int ifindex, int *links, unsigned int most);

/* Order of programs at tcx. It matters: the verdict of a program can hide packets from later
 * ones. */
enum tcx_order {
	TCX_LAST,
	TCX_FIRST,
};

/* Does this kernel have tcx? Needs the permission to load programs. */
bool tcx_works(void);

/* Attach a program of traffic control at tcx, in front of the others or behind them. */
int tcx_link(int ifindex, enum direction direction, int program, enum tcx_order order);

/* Attach a program to a link in the place of the program `old`. Fails if that is not the attached
 * one any more. All three are descriptors. Returns 0, or -errno. */
int link_replace(int link, int program, int old);

/* Detach a link and close it. Closing alone would detach it only when the kernel has time to
 * free it. */
void link_detach(int link);

/* Load a program of traffic control that does nothing. Returns its descriptor, or -errno. */
int load_probe(void);
