/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of an engine for a job. */
#pragma once

#include "job.h"
#include "path.h"
#include "pktgen.h"

/* Compute the settings of a job that sends. */
void settings_make(const struct job *job, const struct interface *interface,
		   const struct path *path, struct pktgen_settings *settings);

/* Fill the first `flows` cells of Walker's alias method for Zipf's law. Flow k, from 0 on, has the
 * weight 1 / (k + 1)^exponent. */
void settings_zipf(double exponent, __u32 flows, struct pktgen_pick *picks);
