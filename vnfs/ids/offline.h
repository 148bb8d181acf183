/* SPDX-License-Identifier: Apache-2.0 */
/* Extraction from a capture. */
#pragma once

#include "extractor.h"

/* Print the records of a capture's flows. The status of the tool. */
int offline_print(const char *capture, const struct extractor_settings *settings,
		  const char *source, const char *run);

/* Read the frames of a capture into memory, extract them so many times, and print the CPU time that
 * took. Each time they are later than the time before by what the capture lasts. */
int offline_measure(const char *capture, const struct extractor_settings *settings, long times);
