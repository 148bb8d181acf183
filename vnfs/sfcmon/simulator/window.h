/* SPDX-License-Identifier: Apache-2.0 */
/* A window: prints what the sketches report of it, judged by the truth, as a line of JSON. */
#pragma once

#include "sketch.h"
#include "truth.h"

struct window {
	uint64_t index; /* from 0, that of the first packet of the trace */
	uint64_t begin_ns;
	uint64_t width_ns;
	uint64_t last_ns; /* time of the latest packet */
	struct sketch sketch;
	struct truth truth;
};

/* Print the window. Heavy hitters are the sources with at least this `share` of the window's
 * packets, in units of 2^-32. `registers`: print all of them. Returns false if the line cannot
 * be written. */
bool window_print(const struct window *window, uint32_t share, bool registers);
