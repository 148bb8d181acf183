/* SPDX-License-Identifier: Apache-2.0 */
/* Counting in front of the XDP program of an interface, which takes frames before tc: sfc-sff, or one that
 * feeds AF_XDP sockets. Ours comes in its place, and calls it for each frame. Who attached it keeps its
 * link. Functions return 0, or -errno. */
#pragma once

#include "program.h"

/* Put this program in front; also in place of an earlier one of the same switch. -ENOENT: there is no XDP
 * program. -EINVAL: it cannot be called by another one, as those for frames in several pieces. */
int xdp_put_in_front(int ifindex, const struct program *program);

/* The program behind is alone again. `forwarders`: the map that a switch keeps. */
void xdp_take_away(int ifindex, int forwarders);
