/* SPDX-License-Identifier: Apache-2.0 */
/* What the program tells the world: JSON Lines on stdout, a stats file, complaints on stderr. */
#ifndef SFCPERF_FORWARDER_REPORT_H
#define SFCPERF_FORWARDER_REPORT_H

#include "engine.h"

/* Say on stderr what went wrong; the last complaint is what report_failed() reports. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* libbpf's warnings become complaints; its chatter is dropped. */
void report_libbpf(void);

/* Keep counters in this file as well. 0, or -1 after complain(). */
int report_open(const char *stats_path);

/* {"event": "ready", "engine": ..., "interface": ...} on stdout. */
void report_ready(const char *engine, const char *interface);

/* {"event": "failed", "error": ...} on stdout and in the stats file. */
void report_failed(void);

/* {"event": "counters", ...} on stdout. */
void report_print(const struct snapshot *snapshot);

/* The same in the stats file, in place: one write of a fixed size, padded with spaces. A reader
 * that sees `sequence` and `sequence_end` differ has met a write and reads again. */
void report_store(const struct snapshot *snapshot);

#endif
