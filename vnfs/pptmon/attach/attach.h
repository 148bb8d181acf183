/* SPDX-License-Identifier: Apache-2.0 */
/* Attaching programs on both sides of the VNF, in an order that leaves no packet with a header. */
#pragma once

#include "../../common/interface.h"
#include "hooks.h"

/* Before anything is loaded. 0, or -1 after complain(). */
int attach_prepare(const struct hook *hook, const struct interface *ingress,
		   const struct interface *egress, bool host_side);

/* 0, or -1 after complain(). */
int attach_both(int enter_fd, int leave_fd);

/* Detach what is attached. `inside` tells whether packets seem to be in the VNF still; NULL: not
 * known. */
void detach_both(bool (*inside)(void));

/* Clean up; the guard ends. */
void attach_finish(void);
