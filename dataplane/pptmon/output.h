/* SPDX-License-Identifier: Apache-2.0 */
/* JSON Lines on stdout without waiting for the reader: lines are kept until it takes them. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* Where lines are printed to; output_flush() hands them to stdout. NULL: no memory. */
FILE *output_stream(void);

/* Has the reader so much to take that no more should be printed? */
bool output_full(void);

/* Is there anything that the reader has not taken? */
bool output_pending(void);

/* Write what stdout takes at once. 0, or -1 when nobody reads it any more. */
int output_flush(void);

/* Write everything, waiting for the reader up to a time. 0, or -1 when something is left. */
int output_finish(int timeout_ms);
