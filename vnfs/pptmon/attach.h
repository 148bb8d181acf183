/* SPDX-License-Identifier: Apache-2.0 */
/* Programs on both sides of the VNF, in an order in which no packet is left with a header. */
#ifndef SFCPERF_PPTMON_ATTACH_H
#define SFCPERF_PPTMON_ATTACH_H

#include "hooks.h"
#include "interface.h"

/* Before anything is loaded. 0, or -1 after complain(). */
int attach_prepare(const struct hook *hook, const struct interface *ingress,
		   const struct interface *egress, bool host_side);

/* 0, or -1 after complain(). */
int attach_both(int enter_fd, int leave_fd);

/* Also when only a part of it is attached, or nothing. `inside` tells whether packets seem to be in
 * the VNF still; NULL: not known. */
void detach_both(bool (*inside)(void));

/* Tidy up; the guard ends. */
void attach_finish(void);

#endif
