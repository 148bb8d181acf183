/* SPDX-License-Identifier: Apache-2.0 */
/* A process that removes the filters of a pptmon that was killed. */
#ifndef SFCPERF_PPTMON_GUARD_H
#define SFCPERF_PPTMON_GUARD_H

#include "clsact.h"

/* Start it; to be done before anything is attached. 0, or -1 after complain(). */
int guard_start(const struct clsact_state *state);

/* Let it end, and wait for that. */
void guard_stop(void);

#endif
