/* SPDX-License-Identifier: Apache-2.0 */
/* JSON Lines on stdout, without ever waiting for the reader: lines are kept until it takes them. */
#ifndef SFCPERF_PPTMON_OUTPUT_H
#define SFCPERF_PPTMON_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/* Where lines are printed to; output_flush() hands them to stdout. NULL: no memory. */
FILE *output_stream(void);

/* A string of JSON, with its quotes. */
void output_string(const char *text);

/* Is there so much that the reader has not taken that no more should be printed? */
bool output_full(void);

/* Is there anything that the reader has not taken? */
bool output_pending(void);

/* Write what stdout takes at once. 0, or -1 when nobody reads it any more. */
int output_flush(void);

/* Write everything, waiting for the reader up to a time. 0, or -1 when something is left. */
int output_finish(int patience_ms);

#endif
