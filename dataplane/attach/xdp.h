/* SPDX-License-Identifier: Apache-2.0 */
/* The XDP program of an interface, whoever attached it. (link.h attaches by a link.) Functions
 * return 0, or -errno. */
#pragma once

#include <stdbool.h>

#include "kernel_program.h"

struct xdp_program {
	struct kernel_program program;
	__u32 mode; /* XDP_FLAGS_DRV_MODE or another one */
};

bool has_xdp(int ifindex);

/* Find the program of an interface. The caller closes its descriptor. -ENOENT: there is none. */
int xdp_find(int ifindex, struct xdp_program *found);

/* Attach to the driver, for as long as the interface is there: no process holds the program.
 * -EBUSY: an XDP program is there already. */
int xdp_attach(int ifindex, int program);

/* Put another program in the place of the one that was found; -1 stands for no program (only if
 * no link holds the found one). Fails if yet another program has taken the place meanwhile. A
 * process that attached the found one by a link keeps that link. */
int xdp_replace(int ifindex, const struct xdp_program *found, int program);

/* Return why a program cannot be attached to the driver, and which program is in the way.
 * `error` is -errno. The text is valid until the next call. */
const char *xdp_attach_error(int ifindex, int error);
