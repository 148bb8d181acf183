/* SPDX-License-Identifier: Apache-2.0 */
/* What a tool says of itself: complaints on stderr, JSON for its events. */
#pragma once

#include <stdio.h>

extern const char tool_name[]; /* each tool defines it */

/* Say on stderr what went wrong. json_failed() reports the last complaint. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Return the text of the last complaint. */
const char *last_complaint(void);

/* Print a string of JSON, with its quotes. */
void json_string(FILE *out, const char *text);

/* Print the line {"event": "failed", "error": ...} with the last complaint. */
void json_failed(FILE *out);
