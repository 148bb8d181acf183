// SPDX-License-Identifier: Apache-2.0
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "../common/numbers.h"
#include "../common/report.h"
#include "events.h"
#include "filter.h"
#include "names.h"
#include "options.h"

#define NS_PER_S 1e9
#define NS_PER_MS 1e6
#define PERIOD_MAX_MS 1e9
#define RATE_MIN_HZ 1e-6
#define RATE_MAX_HZ 1e6

enum {
	OPTION_MODE = 0x100,
	OPTION_VNF_ID,
	OPTION_INGRESS,
	OPTION_EGRESS,
	OPTION_PERIOD,
	OPTION_RATE,
	OPTION_FILTER,
	OPTION_FORMAT,
	OPTION_CARRIER,
	OPTION_METRICS,
	OPTION_CHOICE,
	OPTION_HOST_SIDE,
	OPTION_ATTACH,
	OPTION_CHECK,
};

struct parsing {
	struct options *options;
	unsigned int seen; /* bit per option */
};

const char *argp_program_version = "pptmon 1";
const char tool_name[] = "pptmon";

static const char documentation[] =
	"Measure how long this VNF takes for a packet, in band (PPTMon, CNSM 2020).\v"
	"Prints JSON Lines on stdout: `ready` when packets are measured, `sample` for each that a "
	"sink reports, `counters` on SIGUSR1 and at the end (SIGTERM, SIGINT, SIGHUP), `failed` "
	"before an exit status of 1 (cannot attach), 2 (wrong options) or 3 (the kernel lacks "
	"something). Other modes ignore the options of a source, so that all VNFs of a chain can "
	"be "
	"given the same.\n\n"
	"Example: pptmon --mode source-sink --vnf-id 1 --ingress eth0 --egress eth1 --rate 10";

static const struct argp_option descriptions[] = {
	{ NULL, 0, NULL, 0, "What to measure:", 1 },
	{ "mode", OPTION_MODE, "MODE", 0,
	  "source (first VNF: samples), transit, sink (last VNF: reports) or source-sink (the only "
	  "VNF)",
	  0 },
	{ "vnf-id", OPTION_VNF_ID, "N", 0, "0 to 255, unique in the chain", 0 },
	{ "ingress", OPTION_INGRESS, "IF", 0, "interface where packets enter the VNF", 0 },
	{ "egress", OPTION_EGRESS, "IF", 0, "interface where they leave it; may be the same", 0 },
	{ "host-side", OPTION_HOST_SIDE, NULL, 0,
	  "the interfaces are the outer ends of the VNF's links (veth, tap)", 0 },
	{ NULL, 0, NULL, 0, "Of a source:", 2 },
	{ "period-ms", OPTION_PERIOD, "MS", 0,
	  "time between samples; 0: every packet (default 1000)", 0 },
	{ "rate", OPTION_RATE, "HZ", 0, "samples per second, instead of --period-ms", 0 },
	{ "filter", OPTION_FILTER, "EXPR", 0,
	  "packets to sample, e.g. proto=tcp,src=10.0.0.0/24,dst=10.0.1.1,sport=5201,dport=80", 0 },
	{ "format", OPTION_FORMAT, "NAME", 0, "paper (default), or rfc: RFC 6994 and RFC 9868", 0 },
	{ "carrier", OPTION_CARRIER, "NAME", 0,
	  "auto (default: in NSH where the packet has MD type 2, else in TCP or UDP), l4 or nsh",
	  0 },
	{ "metrics", OPTION_METRICS, "LIST", 0,
	  "time (default), backlog, cpu, delay; several take turns", 0 },
	{ "choice", OPTION_CHOICE, "NAME", 0,
	  "which packet of a period: random (default), or first as in the paper, which is often "
	  "the "
	  "head of a burst",
	  0 },
	{ NULL, 0, NULL, 0, "How:", 3 },
	{ "attach", OPTION_ATTACH, "HOOK", 0,
	  "auto (default: tcx where the kernel has it), tcx or clsact", 0 },
	{ "check", OPTION_CHECK, NULL, 0, "print what this kernel lacks, and end: status 0, or 3",
	  0 },
	{ 0 },
};

static const char *const choice_names[] = { "random", "first", NULL };
static const char *const attach_names[] = { "auto", "tcx", "clsact", NULL };

#define refuse(state, ...)                                                                         \
	do {                                                                                       \
		complain(__VA_ARGS__);                                                             \
		argp_state_help(state, stderr, ARGP_HELP_SEE | ARGP_HELP_EXIT_ERR);                \
	} while (0)

static __u8 parse_name(const char *const *names, const char *option, const char *allowed,
		       const char *value, struct argp_state *state)
{
	int found = find_name(names, value, strlen(value));

	if (found < 0)
		refuse(state, "%s: %s, not '%s'", option, allowed, value);
	return (__u8)found;
}

static void parse_metrics(struct ppt_settings *settings, const char *value,
			  struct argp_state *state)
{
	const char *next = value;

	settings->metric_count = 0;
	for (;;) {
		size_t bytes = strcspn(next, ",");
		int metric = find_name(metric_names, next, bytes);

		if (metric < 0)
			refuse(state,
			       "--metrics: time, backlog, cpu, delay, with commas between, not "
			       "'%s'",
			       value);
		for (int i = 0; i < settings->metric_count; i++)
			if (settings->metrics[i] == metric)
				refuse(state, "--metrics: %s is there twice", metric_names[metric]);
		settings->metrics[settings->metric_count++] = (__u8)metric;
		if (!next[bytes])
			return;
		next += bytes + 1;
	}
}

static void parse_period(struct ppt_settings *settings, const char *value, struct argp_state *state)
{
	double period_ms;

	if (parse_decimal(value, 0, PERIOD_MAX_MS, &period_ms))
		refuse(state, "--period-ms: milliseconds, 0 (every packet) to 1e9, not '%s'",
		       value);
	settings->period_ns = (__u64)(period_ms * NS_PER_MS + 0.5);
}

static void parse_rate(struct ppt_settings *settings, const char *value, struct argp_state *state)
{
	double rate_hz;

	if (parse_decimal(value, RATE_MIN_HZ, RATE_MAX_HZ, &rate_hz))
		refuse(state, "--rate: samples per second, 1e-6 to 1e6, not '%s'", value);
	settings->period_ns = (__u64)(NS_PER_S / rate_hz + 0.5);
}

static void read_filter(struct ppt_settings *settings, const char *value, struct argp_state *state)
{
	char error[160];

	if (parse_filter(value, &settings->filter, error, sizeof(error)))
		refuse(state, "--filter: %s", error);
	settings->filtered = 1;
}

static void parse_vnf_id(struct ppt_settings *settings, const char *value, struct argp_state *state)
{
	long number;

	if (parse_integer(value, 0, 255, &number))
		refuse(state, "--vnf-id: 0 to 255, not '%s'", value);
	settings->vnf_id = (__u8)number;
}

static void check(const struct parsing *parsing, struct argp_state *state)
{
	static const struct {
		int key;
		const char *name;
	} required[] = {
		{ OPTION_MODE, "--mode" },
		{ OPTION_VNF_ID, "--vnf-id" },
		{ OPTION_INGRESS, "--ingress" },
		{ OPTION_EGRESS, "--egress" },
	};
	unsigned int both = 1U << (OPTION_PERIOD & 0xff) | 1U << (OPTION_RATE & 0xff);

	if ((parsing->seen & both) == both)
		refuse(state, "--period-ms and --rate exclude each other");
	for (unsigned int i = 0; i < sizeof(required) / sizeof(required[0]); i++)
		if (!parsing->options->check && !(parsing->seen & 1U << (required[i].key & 0xff)))
			refuse(state, "%s is missing", required[i].name);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct parsing *parsing = state->input;
	struct options *options = parsing->options;
	struct ppt_settings *settings = &options->settings;

	if (key >= OPTION_MODE && key <= OPTION_CHECK)
		parsing->seen |= 1U << (key & 0xff);
	switch (key) {
	case OPTION_MODE:
		settings->mode =
			parse_name(mode_names, "--mode", "source, transit, sink or source-sink",
				   argument, state);
		break;
	case OPTION_VNF_ID:
		parse_vnf_id(settings, argument, state);
		break;
	case OPTION_INGRESS:
		options->ingress = argument;
		break;
	case OPTION_EGRESS:
		options->egress = argument;
		break;
	case OPTION_PERIOD:
		parse_period(settings, argument, state);
		break;
	case OPTION_RATE:
		parse_rate(settings, argument, state);
		break;
	case OPTION_FILTER:
		read_filter(settings, argument, state);
		break;
	case OPTION_FORMAT:
		settings->format =
			parse_name(format_names, "--format", "paper or rfc", argument, state);
		break;
	case OPTION_CARRIER:
		settings->carrier =
			parse_name(carrier_names, "--carrier", "auto, l4 or nsh", argument, state);
		break;
	case OPTION_METRICS:
		parse_metrics(settings, argument, state);
		break;
	case OPTION_CHOICE:
		settings->first =
			parse_name(choice_names, "--choice", "random or first", argument, state);
		break;
	case OPTION_HOST_SIDE:
		options->host_side = true;
		break;
	case OPTION_ATTACH:
		options->attach = parse_name(attach_names, "--attach", "auto, tcx or clsact",
					     argument, state);
		break;
	case OPTION_CHECK:
		options->check = true;
		break;
	case ARGP_KEY_ARG:
		refuse(state, "'%s': what is this for?", argument);
		break;
	case ARGP_KEY_END:
		check(parsing, state);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* Report wrong options on stdout as well, also those that getopt finds. */
static void at_exit(int status, void *parsing)
{
	if (status == argp_err_exit_status && *(bool *)parsing)
		report_failed();
}

void parse_options(int argc, char **argv, struct options *options)
{
	static const struct argp parser = {
		.options = descriptions,
		.parser = parse,
		.doc = documentation,
	};
	static bool parsing_now = true;
	struct parsing parsing = { .options = options };

	*options = (struct options){
		.settings = { .metric_count = 1, .period_ns = (__u64)NS_PER_S },
	};
	argp_err_exit_status = 2;
	on_exit(at_exit, &parsing_now);
	argp_parse(&parser, argc, argv, 0, NULL, &parsing);
	parsing_now = false;
}
