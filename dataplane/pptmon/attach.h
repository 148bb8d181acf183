/* SPDX-License-Identifier: Apache-2.0 */
/* Attaches programs on both sides of the VNF, by either of two hooks, in an order that leaves no
 * packet with a header. */
#pragma once

#include <stdbool.h>

#include "../attach/hook.h"
#include "../common/interface.h"

/* Prepare the hook, and remove what dead processes left. Call it before anything is loaded.
 * Returns 0, or -1 after complain(). */
int attach_prepare(enum hook hook, const struct interface *ingress, const struct interface *egress);

/* Attach both programs. Returns 0, or -1 after complain(); one may be attached then. */
int attach_both(int enter_fd, int leave_fd);

/* Detach what is attached. `inside` tells whether packets still seem to be in the VNF; NULL: not
 * known. */
void detach_both(bool (*inside)(void));

/* Clean up, and end the guard. */
void attach_finish(void);
