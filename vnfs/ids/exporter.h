/* SPDX-License-Identifier: Apache-2.0 */
/* The exporting thread: takes records out of the workers' rings, turns them into JSON, and sends
 * it. */
#pragma once

#include <stdio.h>

#include "extractor.h"
#include "sink.h"

#define EXPORTER_NAME "export" /* name of the thread, in /proc */

struct exporter_settings {
	struct sink_settings sink;
	const char *source, *run; /* `source` and `run` of the records */
	const char *management_netns; /* NULL: the broker is reached from the tool's own */
};

/* Start the thread, and wait until it works. The broker need not be there. Returns 0, or -1 after
 * complain(). */
int exporter_start(const struct exporter_settings *settings, unsigned int workers);

/* Return where the records of a worker go. Its put() never waits: a record that finds the ring
 * full is lost, and counted. */
struct outlet exporter_outlet(unsigned int worker);

/* Wake the exporting thread. The worker calls this when it may have put records. */
void exporter_wake(unsigned int worker);

/* Allow put() to wait for room, for a short time. The worker calls this when no packets follow. */
void exporter_finishing(unsigned int worker);

/* Send what is there, and end the thread. The workers must have ended. */
void exporter_stop(void);

/* Print members of a JSON object, without its braces. */
void exporter_print(FILE *out);
