// SPDX-License-Identifier: Apache-2.0
/* sfc-ids: an NSH service function that forwards packets and meanwhile extracts features of their
 * flows, which it sends to Kafka or writes to a file. */
#include <stdlib.h>
#include <string.h>

#include "../../dataplane/common/cpus.h"
#include "../../dataplane/common/libbpf_log.h"
#include "../../dataplane/common/options.h"
#include "../../dataplane/common/report.h"
#include "../../dataplane/common/signals.h"
#include "../../dataplane/common/stats.h"
#include "../../dataplane/forwarding/counters.h"
#include "exporter.h"
#include "live.h"
#include "observer.h"
#include "offline.h"

#define NS_PER_MS 1000000ULL
#define MOST_PANES 16

const char tool_name[] = "sfc-ids";

static const char documentation[] =
	"NSH service function: decrement the service index, return the packet (RFC 8300), and "
	"extract features of its flow.\v"
	"Prints JSON Lines on stdout: `ready` when it forwards, `counters` on SIGUSR1 and at the "
	"end (SIGTERM or SIGINT); nothing but records where these are printed there. Features are "
	"those of docs/reference/flow-features.md.";

static struct cpu_list cpus;
static const char *interface_name, *observed, *capture, *stats;
static long window_ms = 2000, slide_ms, early_packets = 4, early_flows = 16, flows = 65536, repeat;
static struct exporter_settings exporter = {
	.sink = { .topic = "sfcperf-flow-records" },
	.source = "ids",
	.run = "",
};

static struct tool_option descriptions[] = {
	{ NULL, 0, NULL, "Where packets come from: one of" },
	{ "interface", 'i', "NAME", "interface whose NSH frames are served", take_text,
	  &interface_name },
	{ "observe", 'o', "NAME,NAME",
	  "interfaces between which the kernel forwards plain IP, ingress and egress", take_text,
	  &observed },
	{ "pcap", 'p', "FILE", "a capture, whose records are printed (-: standard input)",
	  take_text, &capture },
	{ NULL, 0, NULL, "What is extracted:" },
	{ "window-ms", 'w', "MS", "length of a window, 100 to 60000 (default 2000)", take_integer,
	  &window_ms, .least = 100, .most = 60000 },
	{ "slide-ms", 'l', "MS",
	  "from the start of a window to that of the next; goes into the window up to 16 times "
	  "(default: the window)",
	  take_integer, &slide_ms, .least = 100, .most = 60000 },
	{ "early-packets", 'e', "N",
	  "a record of each flow after so many packets, 0 to 100; 0: none (default 4)",
	  take_integer, &early_packets, .least = 0, .most = 100 },
	{ "early-flows", 'E', "N",
	  "a record of flows without any as soon as a client has begun N in this pane, 0 to 1000; "
	  "0: "
	  "none (default 16)",
	  take_integer, &early_flows, .least = 0, .most = 1000 },
	{ "flows", 'f', "N", "flows that each thread knows at a time (default 65536)", take_integer,
	  &flows, .least = 1, .most = 1 << 22 },
	{ NULL, 0, NULL, "Where records go: one of" },
	{ "records", 'r', "FILE", "a file of JSON lines (-: standard output)", take_text,
	  &exporter.sink.file },
	{ "brokers", 'b', "LIST", "Kafka brokers, ADDRESS:PORT, separated by commas", take_text,
	  &exporter.sink.brokers },
	{ NULL, 0, NULL, "Of records:" },
	{ "topic", 't', "NAME", "topic of Kafka (default sfcperf-flow-records)", take_text,
	  &exporter.sink.topic },
	{ "management-netns", 'n', "FILE", "network namespace from which brokers are reached",
	  take_text, &exporter.management_netns },
	{ "source", 'S', "NAME", "`source` of the records (default ids)", take_text,
	  &exporter.source },
	{ "run", 'R', "ID", "`run` of the records (default: empty)", take_text, &exporter.run },
	{ NULL, 0, NULL, "Further:" },
	{ "cpus", 'c', "LIST", "with --interface: a thread on each of these, e.g. 0,1", take_cpus,
	  &cpus },
	{ "stats", 's', "FILE", "write the counters to FILE too", take_text, &stats },
	{ "repeat", 'x', "N",
	  "with --pcap: extract the capture N times from memory, and print how long that took "
	  "instead of records",
	  take_integer, &repeat, .least = 1, .most = 1000000 },
	{ 0 },
};

/* Refuse a --slide-ms that does not go into the window. Without one, it is the window's length. */
static void check_windows(void)
{
	if (!slide_ms)
		slide_ms = window_ms;
	if (slide_ms > window_ms || window_ms % slide_ms || window_ms / slide_ms > MOST_PANES)
		refuse("--slide-ms: %ld does not go into the window of %ld from 1 to %d times",
		       slide_ms, window_ms, MOST_PANES);
}

/* Judge the options together: end the tool if they contradict each other. */
static void check_options(char **words, unsigned int count)
{
	(void)words, (void)count;
	if (!!interface_name + !!observed + !!capture != 1)
		refuse("give one of --interface, --observe and --pcap");
	check_windows();
	if (repeat && !capture)
		refuse("--repeat needs --pcap");
	if (capture && (exporter.sink.file || exporter.sink.brokers))
		refuse("--pcap prints records: it excludes --records and --brokers");
	if (!capture && !exporter.sink.file == !exporter.sink.brokers)
		refuse("give one of --records and --brokers");
	if (observed && (!strchr(observed, ',') || strchr(observed, ',') != strrchr(observed, ',')))
		refuse("--observe: '%s' is not two interfaces such as eth1,eth2", observed);
}

/* What the threads that see packets call. */
static const struct inspector inspector = {
	.frame = live_frame,
	.rest = live_rest,
	.end = live_end,
};

/* Write the counters to the stats file, and if `print`, to stdout as well. */
static void report_counters(bool print)
{
	static struct snapshot now;
	FILE *out = stats_begin();

	if (observed) {
		fprintf(out, "\"observed\": %llu, \"unobserved\": %llu", observer_seen(),
			observer_missed());
	} else {
		engine_userspace.read(&now);
		print_snapshot(out, &now);
	}
	fprintf(out, ", ");
	exporter_print(out);
	fprintf(out, ", ");
	live_print(out);
	stats_end(print);
}

/* Observe what the kernel forwards between two interfaces. Returns 0, or -1 after complain(). */
static int observe(void)
{
	size_t first = (size_t)(strchr(observed, ',') - observed);
	struct interface interfaces[2];
	char name[IF_NAMESIZE];

	snprintf(name, sizeof(name), "%.*s", (int)first, observed);
	if (find_interface(name, &interfaces[0]) ||
	    find_interface(observed + first + 1, &interfaces[1]))
		return -1;
	return observer_start(interfaces, &inspector);
}

/* Forward NSH frames of an interface. Returns 0, or -1 after complain(). */
static int serve(void)
{
	struct interface interface;

	if (find_interface(interface_name, &interface))
		return -1;
	engine_userspace_inspect(&inspector);
	return engine_userspace.start(&interface, &cpus);
}

/* End the threads that see packets, then the exporting thread, which sends their last records. */
static void stop(void)
{
	if (observed)
		observer_stop();
	else
		engine_userspace.stop();
	exporter_stop();
}

/* Extract from live packets until the end. Returns the exit status. */
static int work(const struct extractor_settings *settings, const sigset_t *signals)
{
	/* With records on stdout, nothing else is printed there. */
	bool quiet = exporter.sink.file && strcmp(exporter.sink.file, "-") == 0;
	unsigned int threads = observed || !cpus.count ? 1 : cpus.count;

	if (stats_open(stats))
		return 1;
	if (exporter_start(&exporter, threads) || live_open(settings, threads) ||
	    (observed ? observe() : serve()))
		return stats_failed(!quiet);
	if (!quiet)
		puts("{\"event\": \"ready\"}");
	fflush(stdout);
	report_counters(false);
	while (signals_ask_for_counters(signals))
		report_counters(!quiet);
	stop();
	report_counters(!quiet);
	return 0;
}

int main(int argc, char **argv)
{
	struct extractor_settings settings;
	sigset_t signals;

	options_parse(argc, argv, documentation, NULL, descriptions, check_options);
	settings = (struct extractor_settings){
		.slide_ns = (uint64_t)slide_ms * NS_PER_MS,
		.panes = (unsigned int)(window_ms / slide_ms),
		.flows = (uint32_t)flows,
		.early_packets = (uint64_t)early_packets,
		.early_flows = (uint32_t)early_flows,
	};
	if (repeat)
		return offline_measure(capture, &settings, repeat);
	if (capture)
		return offline_print(capture, &settings, exporter.source, exporter.run);
	libbpf_log_keep();
	signals_block(&signals, 0);
	return work(&settings, &signals);
}
