/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "job.h"
#include "path.h"
#include "pktgen.h"

/* What an engine needs to know for a job. */
void settings_make(const struct job *job, const struct interface *interface,
		   const struct path *path, struct pktgen_settings *settings);

/* Fill in Walker's alias method for Zipf's law: flow k, from 0 on, has the weight
 * 1 / (k + 1)^exponent. */
void settings_zipf(double exponent, __u32 flows, struct pktgen_pick *picks);
