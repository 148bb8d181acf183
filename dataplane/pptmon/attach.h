/* SPDX-License-Identifier: Apache-2.0 */
/* Attaching programs on both sides of the VNF, by either of two hooks, in an order that leaves no
 * packet with a header. */
#pragma once

#include <stdbool.h>

#include "../attach/hook.h"
#include "../common/interface.h"

/* Before anything is loaded; removes what dead processes left. 0, or -1 after complain(). */
int attach_prepare(enum hook hook, const struct interface *ingress, const struct interface *egress);

/* 0, or -1 after complain(). */
int attach_both(int enter_fd, int leave_fd);

/* Detach what is attached. `inside` tells whether packets seem to be in the VNF still; NULL: not
 * known. */
void detach_both(bool (*inside)(void));

/* Clean up; the guard ends. */
void attach_finish(void);
