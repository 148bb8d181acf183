// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "delay.h"

#define STATS_BYTES 1024

static char last_complaint[512];
static int stats_fd = -1;

void complain(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(last_complaint, sizeof(last_complaint), format, arguments);
	va_end(arguments);
	fprintf(stderr, "sfc-delay: %s\n", last_complaint);
}

int report_open(const char *stats_path)
{
	stats_fd = open(stats_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (stats_fd < 0) {
		complain("cannot write %s: %s", stats_path, strerror(errno));
		return -1;
	}
	return 0;
}

/* The stats file is one page of text; a reader that meets a write sees two sequences. */
static void say(const char *text)
{
	char page[STATS_BYTES];
	size_t bytes = strlen(text);

	fputs(text, stdout);
	fflush(stdout);
	if (stats_fd < 0 || bytes > sizeof(page))
		return;
	memset(page, ' ', sizeof(page));
	memcpy(page, text, bytes);
	if (pwrite(stats_fd, page, sizeof(page), 0) != sizeof(page))
		complain("cannot write the stats file: %s", strerror(errno));
}

void report_ready(const struct options *options)
{
	printf("{\"event\": \"ready\", \"tun\": \"%s\", \"delay_us\": %llu}\n", options->tun,
	       (unsigned long long)(options->delay_ns / NS_PER_US));
	fflush(stdout);
}

static unsigned long long value(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

void report_counters(const struct statistics *statistics)
{
	static unsigned long sequence;
	unsigned long long forwarded = value(&statistics->forwarded);
	unsigned long long full = value(&statistics->dropped_full);
	unsigned long long send = value(&statistics->dropped_send);
	char text[STATS_BYTES];

	sequence++;
	snprintf(text, sizeof(text),
		 "{\"event\": \"counters\", \"sequence\": %lu, \"received\": %llu, "
		 "\"forwarded\": %llu, \"dropped\": %llu, \"drops\": {\"full\": %llu, "
		 "\"send\": %llu}, \"delay_sum_ns\": %llu, \"delay_min_ns\": %llu, "
		 "\"delay_max_ns\": %llu, \"sequence_end\": %lu}\n",
		 sequence, value(&statistics->received), forwarded, full + send, full, send,
		 value(&statistics->delay_sum_ns), forwarded ? value(&statistics->delay_min_ns) : 0,
		 value(&statistics->delay_max_ns), sequence);
	say(text);
}

/* No complaint has a quote or a backslash but in a name that the caller gave. */
void report_failed(void)
{
	char text[STATS_BYTES];

	for (char *c = last_complaint; *c; c++)
		if (*c == '"' || *c == '\\' || (unsigned char)*c < 0x20)
			*c = '?';
	snprintf(text, sizeof(text), "{\"event\": \"failed\", \"error\": \"%s\"}\n",
		 last_complaint);
	say(text);
}
