/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "../common/interface.h"

/* Enter a network namespace of our own, which is gone with the process, and make a cable in it: a
 * pair of veths. 0, or -1 after complain(). */
int lab_enter(struct interface *near, struct interface *far);
