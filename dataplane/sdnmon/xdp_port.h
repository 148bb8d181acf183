/* SPDX-License-Identifier: Apache-2.0 */
/* Counts in front of the XDP program of an interface, which takes frames before tc: sfc-sff, or
 * one that feeds AF_XDP sockets. SDN-Mon's program takes its place, and calls it for each frame.
 * A process that attached it by a link keeps that link. Functions return 0, or -errno. */
#pragma once

#include "program.h"

/* Put this program in front, or in the place of an earlier one of the same switch. -ENOENT: the
 * interface has no XDP program. -EINVAL: its program cannot be called by another one, for
 * example because it takes frames in several pieces. */
int xdp_put_in_front(int ifindex, const struct program *program);

/* Put the program behind back into its place at the interface, unless SDN-Mon's is no longer there.
 * `forwarders` is the descriptor of the map with the programs behind. */
void xdp_take_away(int ifindex, int forwarders);
