/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events as JSON Lines on stdout, and the last one in a file that is read at any time.
 *
 * The file is overwritten in place: one write, padded with spaces to the longest one. A reader that
 * sees two values of `sequence` and `sequence_end` has met a write, and reads again.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* Open the stats file. `path` may be NULL: no file. Returns 0, or -1 after complain(). */
int stats_open(const char *path);

/* Begin an event `counters`. The caller prints its other members, with commas between them, to
 * the returned stream. */
FILE *stats_begin(void);

/* End the event, write it to the file, and if `print`, to stdout as well. */
void stats_end(bool print);

/* Report the last complaint instead of counters. Returns the tool's exit status. */
int stats_failed(bool print);
