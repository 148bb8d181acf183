/* SPDX-License-Identifier: Apache-2.0 */
/* What user space measures for the metrics `backlog` and `cpu`. */
#pragma once

#include "pptmon.h"

#define GAUGES_PERIOD_MS 50

/* Measure the queue of this interface from now on. 0, or -1 after complain(). */
int gauges_open(int ifindex);

/* Refresh them; to be called each GAUGES_PERIOD_MS. */
void gauges_refresh(struct ppt_gauges *gauges);

void gauges_close(void);
