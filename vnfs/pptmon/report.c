// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include <bpf/libbpf.h>

#include "names.h"
#include "output.h"
#include "report.h"

#define LOG_LINES 6 /* of a verifier's log: the reason is at its end */
#define FAILED_PATIENCE_MS 1000

static const char *const counter_names[] = {
	[PPT_SAMPLED] = "sampled",
	[PPT_ADDED] = "added",
	[PPT_MEASURED] = "measured",
	[PPT_REPORTED] = "reported",
	[PPT_TRUNCATED] = "truncated",
	[PPT_SATURATED] = "saturated",
	[PPT_NO_ROOM_OPTIONS] = "no_room_options",
	[PPT_NO_ROOM_MTU] = "no_room_mtu",
	[PPT_FRAGMENTS] = "fragments",
	[PPT_UNSUPPORTED] = "unsupported",
	[PPT_ALREADY] = "already",
	[PPT_FOREIGN] = "foreign",
	[PPT_MALFORMED] = "malformed",
	[PPT_FAILED] = "failed",
	[PPT_EVENTS_LOST] = "events_lost",
	[PPT_SEEN] = "seen",
	[PPT_JUDGED] = "judged",
	[PPT_WANTED] = "wanted",
};
_Static_assert(sizeof(counter_names) / sizeof(counter_names[0]) == PPT_COUNTERS,
	       "every counter has a name");

static char last_complaint[1024] = "wrong options; stderr says which";
static char libbpf_said[768];

void complain(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(last_complaint, sizeof(last_complaint), format, arguments);
	va_end(arguments);
	fprintf(stderr, "pptmon: %s\n", last_complaint);
}

/* The end of the log that libbpf puts between two lines of its own. */
static const char *last_lines(char *text)
{
	char *end = strstr(text, "-- END PROG LOAD LOG");
	int lines = 0;

	if (!end)
		return text;
	while (end > text && end[-1] != '\n')
		end--;
	*end = '\0';
	while (end > text && lines <= LOG_LINES)
		lines += *--end == '\n';
	return end == text ? end : end + 1;
}

static int on_libbpf(enum libbpf_print_level level, const char *format, va_list arguments)
{
	const char *said;
	char *text;

	if (level != LIBBPF_WARN || vasprintf(&text, format, arguments) < 0)
		return 0;
	/* What follows a verifier's log says less than the log. */
	if (strstr(text, "PROG LOAD LOG") || !strchr(libbpf_said, '\n')) {
		said = last_lines(text);
		snprintf(libbpf_said, sizeof(libbpf_said), "%s", said);
	}
	free(text);
	return 0;
}

void report_libbpf(void)
{
	libbpf_set_print(on_libbpf);
}

const char *report_libbpf_said(void)
{
	size_t bytes = strlen(libbpf_said);

	if (bytes && libbpf_said[bytes - 1] == '\n')
		libbpf_said[bytes - 1] = '\0';
	return libbpf_said;
}

void report_ready(const struct options *options, const char *attach)
{
	FILE *out = output_stream();

	fprintf(out, "{\"event\": \"ready\", \"mode\": \"%s\", \"vnf_id\": %u, \"ingress\": ",
		mode_names[options->settings.mode], options->settings.vnf_id);
	output_string(options->ingress);
	fprintf(out, ", \"egress\": ");
	output_string(options->egress);
	fprintf(out, ", \"attach\": \"%s\", \"format\": \"%s\"}\n", attach,
		format_names[options->settings.format]);
}

void report_counters(const __u64 *values)
{
	FILE *out = output_stream();

	fprintf(out, "{\"event\": \"counters\"");
	for (int i = 0; i < PPT_COUNTERS; i++)
		fprintf(out, ", \"%s\": %llu", counter_names[i], values[i]);
	fprintf(out, "}\n");
}

void report_check(const struct lacks *lacks, const char *attach)
{
	FILE *out = output_stream();
	struct utsname kernel;

	uname(&kernel);
	fprintf(out, "{\"event\": \"check\", \"kernel\": ");
	output_string(kernel.release);
	fprintf(out, ", \"met\": %s, \"lacks\": [", lacks->count ? "false" : "true");
	for (int i = 0; i < lacks->count; i++) {
		fprintf(out, "%s", i ? ", " : "");
		output_string(lacks->what[i]);
	}
	fprintf(out, "], \"attach\": ");
	if (attach)
		output_string(attach);
	else
		fprintf(out, "null");
	fprintf(out, "}\n");
}

void report_failed(void)
{
	FILE *out = output_stream();

	fprintf(out, "{\"event\": \"failed\", \"error\": ");
	output_string(last_complaint);
	fprintf(out, "}\n");
	output_finish(FAILED_PATIENCE_MS);
}
