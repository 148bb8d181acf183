/* SPDX-License-Identifier: Apache-2.0 */
/* JSON Lines on stdout without waiting for the reader: lines are kept until the reader takes
 * them. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* Return the stream that lines are printed to; output_flush() hands them to stdout. NULL: no
 * memory. */
FILE *output_stream(void);

/* Is so much kept that no more should be printed until the reader has taken some? */
bool output_full(void);

/* Is there anything that the reader has not taken? */
bool output_pending(void);

/* Write what stdout takes at once. Returns 0, or -1 if nobody reads it any more. */
int output_flush(void);

/* Write everything. Gives up when the reader takes nothing for so long. Returns 0, or -1 if
 * something is left. */
int output_finish(int timeout_ms);
