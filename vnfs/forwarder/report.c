// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "report.h"

#define STATS_BYTES 8192 /* totals, FWD_MAX_PATHS paths and MAX_THREADS workers fit */

static const char *const drop_names[FWD_VERDICTS] = {
	[FWD_TRUNCATED] = "truncated", [FWD_ENCAPSULATION] = "encapsulation",
	[FWD_VERSION] = "version",     [FWD_MD_TYPE] = "md_type",
	[FWD_LENGTH] = "length",       [FWD_OAM] = "oam",
	[FWD_SI_ZERO] = "si_zero",     [FWD_SI_EXHAUSTED] = "si_exhausted",
	[FWD_OVERSIZE] = "oversize",   [FWD_RING_FULL] = "ring_full",
	[FWD_TX_FAILED] = "tx_failed",
};

static char last_complaint[512];
static int stats_fd = -1;

void complain(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(last_complaint, sizeof(last_complaint), format, arguments);
	va_end(arguments);
	fprintf(stderr, "sfc-forwarder: %s\n", last_complaint);
}

static int on_libbpf(enum libbpf_print_level level, const char *format, va_list arguments)
{
	char line[512];

	if (level != LIBBPF_WARN)
		return 0;
	vsnprintf(line, sizeof(line), format, arguments);
	line[strcspn(line, "\n")] = '\0';
	complain("%s", line);
	return 0;
}

void report_libbpf(void)
{
	libbpf_set_print(on_libbpf);
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

static void put_string(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < 0x20 || c > 0x7e)
			fprintf(out, "\\u%04x", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}

static void put_counters(FILE *out, const struct snapshot *snapshot, unsigned long sequence)
{
	const __u64 *verdicts = snapshot->totals.verdicts;
	__u64 dropped = 0;

	for (int i = FWD_DROP_FIRST; i < FWD_VERDICTS; i++)
		dropped += verdicts[i];
	fprintf(out, "{\"event\": \"counters\", \"sequence\": %lu", sequence);
	fprintf(out, ", \"received\": %llu, \"forwarded\": %llu, \"dropped\": %llu",
		verdicts[FWD_FORWARDED] + dropped, verdicts[FWD_FORWARDED], dropped);
	fprintf(out, ", \"passed\": %llu, \"drops\": {", verdicts[FWD_PASSED]);
	for (int i = FWD_DROP_FIRST; i < FWD_VERDICTS; i++)
		fprintf(out, "%s\"%s\": %llu", i == FWD_DROP_FIRST ? "" : ", ", drop_names[i],
			verdicts[i]);
	fprintf(out, "}, \"paths\": [");
	for (unsigned int i = 0; i < snapshot->path_count; i++)
		fprintf(out, "%s{\"spi\": %u, \"si\": %u, \"packets\": %llu}", i ? ", " : "",
			snapshot->paths[i].path >> 8, snapshot->paths[i].path & 0xff,
			snapshot->paths[i].packets);
	fprintf(out, "], \"workers\": [");
	for (unsigned int i = 0; i < snapshot->worker_count; i++)
		fprintf(out, "%s%llu", i ? ", " : "", snapshot->workers[i]);
	fprintf(out, "], \"paths_untracked\": %llu, \"sequence_end\": %lu}\n",
		snapshot->totals.paths_untracked, sequence);
}

static void put_failure(FILE *out)
{
	fprintf(out, "{\"event\": \"failed\", \"error\": ");
	put_string(out, last_complaint);
	fprintf(out, "}\n");
}

void report_ready(const char *engine, const char *interface)
{
	printf("{\"event\": \"ready\", \"engine\": \"%s\", \"interface\": ", engine);
	put_string(stdout, interface);
	printf("}\n");
	fflush(stdout);
}

static unsigned long next_sequence(void)
{
	static unsigned long sequence;

	return ++sequence;
}

/* The stats file is one page of text. On a full disk it goes stale, which must not stop the data
 * plane; its sequence tells. */
static void store(const char *text, size_t bytes)
{
	char page[STATS_BYTES];

	memset(page, ' ', sizeof(page));
	memcpy(page, text, bytes);
	if (pwrite(stats_fd, page, sizeof(page), 0) != sizeof(page))
		complain("cannot write the stats file: %s", strerror(errno));
}

void report_failed(void)
{
	char text[STATS_BYTES];
	FILE *out;

	put_failure(stdout);
	fflush(stdout);
	if (stats_fd < 0)
		return;
	out = fmemopen(text, sizeof(text), "w");
	if (!out)
		return;
	put_failure(out);
	fflush(out);
	store(text, ftell(out));
	fclose(out);
}

void report_print(const struct snapshot *snapshot)
{
	put_counters(stdout, snapshot, next_sequence());
	fflush(stdout);
}

void report_store(const struct snapshot *snapshot)
{
	char text[STATS_BYTES];
	FILE *out;

	if (stats_fd < 0)
		return;
	out = fmemopen(text, sizeof(text), "w");
	if (!out)
		return;
	put_counters(out, snapshot, next_sequence());
	fflush(out);
	store(text, ftell(out));
	fclose(out);
}
