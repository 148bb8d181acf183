// SPDX-License-Identifier: Apache-2.0
/* Reads the command line of pptmon. */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "../common/options.h"
#include "events.h"
#include "filter.h"
#include "options.h"

#define NS_PER_S 1e9
#define NS_PER_MS 1e6
#define PERIOD_MAX_MS 1e9
#define RATE_MIN_HZ 1e-6
#define RATE_MAX_HZ 1e6

const char tool_name[] = "pptmon";

static const char documentation[] =
	"Measure how long this VNF takes for a packet, in band (PPTMon, CNSM 2020).\v"
	"Prints JSON Lines on stdout: `ready` when packets are measured, `sample` for each that a "
	"sink reports, `counters` on SIGUSR1 and at the end (SIGTERM, SIGINT, SIGHUP), `failed` "
	"before an exit status of 1 (cannot attach), 2 (wrong options) or 3 (the kernel lacks "
	"something). Other modes ignore the options of a source, so that all VNFs of a chain can "
	"be given the same.\n\n"
	"Example: pptmon --mode source-sink --vnf-id 1 --ingress eth0 --egress eth1 --rate 10";

const char *const mode_names[] = {
	[PPT_MODE_SOURCE] = "source",
	[PPT_MODE_TRANSIT] = "transit",
	[PPT_MODE_SINK] = "sink",
	[PPT_MODE_SOURCE_SINK] = "source-sink",
	NULL,
};

const char *const format_names[] = {
	[PPT_FORMAT_PAPER] = "paper",
	[PPT_FORMAT_RFC] = "rfc",
	NULL,
};

const char *const carrier_names[] = {
	[PPT_CARRIER_AUTO] = "auto",
	[PPT_CARRIER_L4] = "l4",
	[PPT_CARRIER_NSH] = "nsh",
	NULL,
};

const char *const metric_names[] = {
	[PPT_METRIC_TIME] = "time",
	[PPT_METRIC_DELAY] = "delay",
	NULL,
};

static const char *const choice_names[] = { "random", "first", NULL };

static struct options options = {
	.settings = { .metric_count = 1, .period_ns = (__u64)NS_PER_S },
};
static int mode, format, carrier, choice, attach;
static long vnf_id;
static const char *period, *rate;

/* Take the option --metrics: a list in which both metrics can be, in the order in which they
 * take turns. */
static void take_metrics(const struct tool_option *option, const char *argument)
{
	struct ppt_settings *settings = option->value;
	const char *next = argument;

	settings->metric_count = 0;
	for (;;) {
		size_t bytes = strcspn(next, ",");
		int metric = find_word(metric_names, next, bytes);

		if (metric < 0)
			refuse("--metrics: time, delay, with a comma between, not '%s'", argument);
		for (int i = 0; i < settings->metric_count; i++)
			if (settings->metrics[i] == metric)
				refuse("--metrics: %s is given twice", metric_names[metric]);
		settings->metrics[settings->metric_count++] = (__u8)metric;
		if (!next[bytes])
			return;
		next += bytes + 1;
	}
}

static struct tool_option descriptions[] = {
	{ .help = "What to measure:" },
	{ "mode", 0, "MODE",
	  "source (first VNF: samples), transit, sink (last VNF: reports) or source-sink (the only "
	  "VNF)",
	  take_word, &mode, .words = mode_names, .required = true },
	{ "vnf-id", 0, "N", "0 to 255, unique in the chain", take_integer, &vnf_id, .least = 0,
	  .most = 255, .required = true },
	{ "ingress", 0, "IF", "interface where packets enter the VNF", take_text, &options.ingress,
	  .required = true },
	{ "egress", 0, "IF", "interface where they leave it; may be the same", take_text,
	  &options.egress, .required = true },
	{ .help = "Of a source:" },
	{ "period-ms", 0, "MS", "time between samples; 0: every packet (default 1000)", take_text,
	  &period },
	{ "rate", 0, "HZ", "samples per second, instead of --period-ms", take_text, &rate },
	{ "filter", 0, "EXPR",
	  "packets to sample, e.g. proto=tcp,src=10.0.0.0/24,dst=10.0.1.1,sport=5201,dport=80",
	  take_filter, &options.settings },
	{ "format", 0, "NAME", "paper (default), or rfc: RFC 6994 and RFC 9868", take_word, &format,
	  .words = format_names },
	{ "carrier", 0, "NAME",
	  "auto (default: in NSH where the packet has MD type 2, else in TCP or UDP), l4 or nsh",
	  take_word, &carrier, .words = carrier_names },
	{ "metrics", 0, "LIST", "time (default), delay; both take turns", take_metrics,
	  &options.settings },
	{ "choice", 0, "NAME",
	  "which packet of a period: random (default), or first as in the paper, which is often "
	  "the head of a burst",
	  take_word, &choice, .words = choice_names },
	{ .help = "How:" },
	{ "attach", 0, "HOOK", "auto (default: tcx where the kernel has it), tcx or clsact",
	  take_word, &attach, .words = tc_hook_names },
	{ "check", 0, NULL, "print what this kernel lacks, and end: status 0, or 3", take_flag,
	  &options.check, .excuses = true },
	{ 0 },
};

/* Judge the options together, and compute the period. */
static void check(char **words, unsigned int count)
{
	double number;

	(void)words;
	(void)count;
	if (period && parse_decimal(period, 0, PERIOD_MAX_MS, &number))
		refuse("--period-ms: milliseconds, 0 (every packet) to 1e9, not '%s'", period);
	if (period)
		options.settings.period_ns = (__u64)(number * NS_PER_MS + 0.5);
	if (rate && parse_decimal(rate, RATE_MIN_HZ, RATE_MAX_HZ, &number))
		refuse("--rate: samples per second, 1e-6 to 1e6, not '%s'", rate);
	if (rate)
		options.settings.period_ns = (__u64)(NS_PER_S / number + 0.5);
	if (period && rate)
		refuse("--period-ms and --rate exclude each other");
}

/* Report wrong options on stdout as well, also those that argp finds. `parsing`: whether the
 * options were still being parsed. */
static void at_exit(int status, void *parsing)
{
	if (status == argp_err_exit_status && *(bool *)parsing)
		report_failed();
}

const struct options *parse_options(int argc, char **argv)
{
	static bool parsing = true;

	on_exit(at_exit, &parsing);
	options_parse(argc, argv, documentation, NULL, descriptions, check);
	parsing = false;
	options.settings.mode = (__u8)mode;
	options.settings.vnf_id = (__u8)vnf_id;
	options.settings.format = (__u8)format;
	options.settings.carrier = (__u8)carrier;
	options.settings.first = (__u8)choice; /* place in choice_names */
	options.attach = (enum hook)attach;
	return &options;
}
