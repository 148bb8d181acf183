/* SPDX-License-Identifier: Apache-2.0 */
/* Extracts features from a capture. */
#pragma once

#include "extractor.h"

/* Print the records of a capture's flows. Returns the exit status. */
int offline_print(const char *capture, const struct extractor_settings *settings,
		  const char *source, const char *run);

/* Read the frames of a capture into memory, extract them so many times, and print how many packets
 * that were, and the CPU time that it took. Each time, the frames are later by what the capture
 * lasts. Returns the exit status. */
int offline_measure(const char *capture, const struct extractor_settings *settings, long times);
