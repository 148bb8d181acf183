/* SPDX-License-Identifier: Apache-2.0 */
/* The exporting thread: takes records out of the workers' rings, makes JSON of them, and sends it. */
#pragma once

#include <stdio.h>

#include "extractor.h"
#include "sink.h"

#define EXPORTER_NAME "export" /* of the thread, in /proc */

struct exporter_settings {
	struct sink_settings sink;
	const char *source, *run; /* of the records */
	const char *management_netns; /* NULL: the broker is reached from the tool's own */
};

/* 0, or -1 after complain(). The broker need not be there. */
int exporter_start(const struct exporter_settings *settings, unsigned int workers);

/* Where the records of a worker go. Its put() never waits: what finds the ring full is lost, and
 * counted. */
struct outlet exporter_outlet(unsigned int worker);

/* From the worker, when it may have put records. */
void exporter_wake(unsigned int worker);

/* From the worker: no packets follow, so that put() may wait for room, for a short time. */
void exporter_finishing(unsigned int worker);

/* Send what is there, and end the thread. The workers have ended. */
void exporter_stop(void);

/* Members of a JSON object, without its braces. */
void exporter_print(FILE *out);
