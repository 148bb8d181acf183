// SPDX-License-Identifier: Apache-2.0
/* Prints the events of pptmon. */
#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/utsname.h>

#include "../common/clock.h"
#include "../common/report.h"
#include "events.h"
#include "output.h"

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

__s64 monotonic_to_unix_ns(void)
{
	__s64 before = (__s64)clock_ns(CLOCK_MONOTONIC);
	__s64 unix_ns = (__s64)clock_ns(CLOCK_REALTIME);
	__s64 after = (__s64)clock_ns(CLOCK_MONOTONIC);

	return unix_ns - before - (after - before) / 2;
}

static void print_protocol(FILE *out, __u8 protocol)
{
	if (protocol == IPPROTO_TCP)
		fputs("\"tcp\"", out);
	else if (protocol == IPPROTO_UDP)
		fputs("\"udp\"", out);
	else
		fprintf(out, "\"%u\"", protocol);
}

static void print_flow(FILE *out, const struct ppt_event *event)
{
	bool has_ports = event->protocol == IPPROTO_TCP || event->protocol == IPPROTO_UDP;
	int family = event->family == 4 ? AF_INET : AF_INET6;
	char address[INET6_ADDRSTRLEN];

	if (event->family == 0) {
		fputs(", \"flow\": null", out);
		return;
	}
	fputs(", \"flow\": {\"proto\": ", out);
	print_protocol(out, event->protocol);
	fprintf(out, ", \"src\": \"%s\"",
		inet_ntop(family, event->source, address, sizeof(address)));
	if (has_ports)
		fprintf(out, ", \"sport\": %u", event->source_port);
	fprintf(out, ", \"dst\": \"%s\"",
		inet_ntop(family, event->destination, address, sizeof(address)));
	if (has_ports)
		fprintf(out, ", \"dport\": %u", event->destination_port);
	fputc('}', out);
}

/* Print the value of a hop. Delays count from the first VNF. */
static void print_value(FILE *out, const struct ppt_event *event, __u32 value, __u32 first_value)
{
	if (event->metric == PPT_METRIC_TIME)
		fprintf(out, "\"time_us\": %u", value);
	else
		fprintf(out, "\"delay_us\": %u", (value - first_value) & PPT_VALUE_MAX);
}

/* Print the hops. The packet has the newest hop first; people read from the first VNF on, so the
 * order is reversed. Delays count from the first VNF. */
static void print_hops(FILE *out, const struct ppt_event *event, int count)
{
	__u32 first_value = count ? event->hops[count - 1] & PPT_VALUE_MAX : 0;

	fputs(", \"hops\": [", out);
	for (int i = count - 1; i >= 0; i--) {
		fprintf(out, "{\"vnf_id\": %u, ", event->hops[i] >> 24);
		print_value(out, event, event->hops[i] & PPT_VALUE_MAX, first_value);
		fputs(i ? "}, " : "}", out);
	}
	fputc(']', out);
}

/* Has the time of a hop reached its maximum? */
static bool is_saturated(const struct ppt_event *event, int count)
{
	for (int i = 0; i < count; i++)
		if (event->metric == PPT_METRIC_TIME &&
		    (event->hops[i] & PPT_VALUE_MAX) == PPT_VALUE_MAX)
			return true;
	return false;
}

/* Print what limits the sample: hops are missing, a time reached its maximum, or the packet was
 * a super-packet of several segments. */
static void print_flags(FILE *out, const struct ppt_event *event, int count)
{
	const struct {
		bool set;
		const char *name;
	} flags[] = {
		{ event->flags & PPT_FLAG_TRUNCATED, "truncated" },
		{ is_saturated(event, count), "saturated" },
		{ event->segments > 0, "segment" },
	};
	const char *comma = "";

	fputs(", \"flags\": [", out);
	for (unsigned int i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (!flags[i].set)
			continue;
		fprintf(out, "%s\"%s\"", comma, flags[i].name);
		comma = ", ";
	}
	fputc(']', out);
}

/* Print the time from the source's ingress to here. It is measured by the clock that the source
 * wrote into the packet, which has only the low bits of it. */
static void print_end_to_end(FILE *out, const struct ppt_event *event, int count)
{
	if (event->carrier == PPT_CARRIER_NSH)
		fprintf(out, ", \"end_to_end_us\": %u",
			(__u32)event->tai_us - event->source_clock_us);
	else if (event->metric == PPT_METRIC_DELAY && count > 0)
		fprintf(out, ", \"end_to_end_us\": %u",
			((__u32)event->tai_us - event->hops[count - 1]) & PPT_VALUE_MAX);
}

void print_sample(const struct ppt_event *event, __s64 to_unix_ns)
{
	int count = event->hop_count < PPT_MAX_HOPS ? event->hop_count : PPT_MAX_HOPS;
	FILE *out = output_stream();

	fprintf(out, "{\"event\": \"sample\", \"ts_ns\": %lld",
		(__s64)event->ktime_ns + to_unix_ns);
	print_flow(out, event);
	fprintf(out, ", \"metric\": \"%s\"", metric_names[event->metric % PPT_METRICS]);
	print_hops(out, event, count);
	if (event->own && event->metric == PPT_METRIC_TIME)
		fprintf(out, ", \"own_time_ns\": %u", event->own_time_ns);
	print_end_to_end(out, event, count);
	print_flags(out, event, count);
	fprintf(out, ", \"sample\": %u, \"carrier\": \"%s\", \"format\": \"%s\"", event->sample,
		carrier_names[event->carrier == PPT_CARRIER_NSH ? PPT_CARRIER_NSH : PPT_CARRIER_L4],
		format_names[event->format == PPT_FORMAT_RFC ? PPT_FORMAT_RFC : PPT_FORMAT_PAPER]);
	if (event->carrier == PPT_CARRIER_NSH)
		fprintf(out, ", \"spi\": %u, \"si\": %u", event->spi, event->si);
	fputs("}\n", out);
}
