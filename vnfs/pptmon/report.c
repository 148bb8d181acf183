// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <sys/utsname.h>

#include "../common/report.h"
#include "names.h"
#include "output.h"
#include "report.h"

#define FAILED_TIMEOUT_MS 1000

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

void report_ready(const struct options *options, const char *attach)
{
	FILE *out = output_stream();

	fprintf(out, "{\"event\": \"ready\", \"mode\": \"%s\", \"vnf_id\": %u, \"ingress\": ",
		mode_names[options->settings.mode], options->settings.vnf_id);
	json_string(out, options->ingress);
	fprintf(out, ", \"egress\": ");
	json_string(out, options->egress);
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
	json_string(out, kernel.release);
	fprintf(out, ", \"met\": %s, \"lacks\": [", lacks->count ? "false" : "true");
	for (int i = 0; i < lacks->count; i++) {
		fprintf(out, "%s", i ? ", " : "");
		json_string(out, lacks->what[i]);
	}
	fprintf(out, "], \"attach\": ");
	if (attach)
		json_string(out, attach);
	else
		fprintf(out, "null");
	fprintf(out, "}\n");
}

void report_failed(void)
{
	json_failed(output_stream());
	output_finish(FAILED_TIMEOUT_MS);
}
