/* SPDX-License-Identifier: Apache-2.0 */
/* A private cable between two interfaces, for calibration. */
#pragma once

#include "../common/interface.h"

/* Enter a new network namespace, which is gone with the process, and make a cable in it: a pair
 * of veths. Returns 0, or -1 after complain(). */
int lab_enter(struct interface *near, struct interface *far);
