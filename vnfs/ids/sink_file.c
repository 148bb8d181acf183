// SPDX-License-Identifier: Apache-2.0
/* Writes records to a file, a line each. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../dataplane/common/report.h"
#include "sink.h"

static struct sink_counters *counters;
static uint64_t buffered; /* records */
static FILE *file;

static int open_file(const struct sink_settings *settings, struct sink_counters *shared)
{
	counters = shared;
	file = strcmp(settings->file, "-") == 0 ? stdout : fopen(settings->file, "we");
	if (file)
		return 0;
	complain("cannot write %s: %s", settings->file, strerror(errno));
	return -1;
}

/* Write what is buffered. A full disk is complained about once; what was buffered is then lost, and
 * packets still flow. Returns false: there are no answers to wait for. */
static bool flush(void)
{
	bool written = fflush(file) == 0 && !ferror(file);

	if (!written && !atomic_load(&counters->lost[LOSS_WRITE]))
		complain("cannot write records: %s", strerror(errno));
	clearerr(file);
	atomic_fetch_add_explicit(written ? &counters->sent : &counters->lost[LOSS_WRITE], buffered,
				  memory_order_relaxed);
	buffered = 0;
	return false;
}

static void send_line(const char *key, size_t key_bytes, const char *text, size_t bytes)
{
	(void)key, (void)key_bytes;
	/* flush() sees whether this has failed. */
	fwrite(text, 1, bytes, file);
	fputc('\n', file);
	buffered++;
}

static void close_file(int timeout_ms)
{
	(void)timeout_ms;
	flush();
}

const struct sink sink_file = {
	.open = open_file,
	.send = send_line,
	.serve = flush,
	.close = close_file,
};
