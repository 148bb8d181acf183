// SPDX-License-Identifier: Apache-2.0
/* sfc-forwarder: an NSH service function that decrements the SI and returns the packet. */
#include "../common/libbpf_log.h"
#include "../common/report.h"
#include "../common/signals.h"
#include "../common/stats.h"
#include "engine.h"
#include "options.h"

static const char *const drop_names[FWD_VERDICTS] = {
	[FWD_TRUNCATED] = "truncated", [FWD_ENCAPSULATION] = "encapsulation",
	[FWD_VERSION] = "version",     [FWD_MD_TYPE] = "md_type",
	[FWD_LENGTH] = "length",       [FWD_OAM] = "oam",
	[FWD_SI_ZERO] = "si_zero",     [FWD_SI_EXHAUSTED] = "si_exhausted",
	[FWD_OVERSIZE] = "oversize",   [FWD_RING_FULL] = "ring_full",
	[FWD_TX_FAILED] = "tx_failed",
};

/* Counters in the stats file, and on stdout as well if `print`. */
static void report_counters(const struct engine *engine, bool print)
{
	static unsigned long sequence;
	static struct snapshot now;
	const __u64 *verdicts = now.totals.verdicts;
	FILE *out = stats_begin();
	__u64 dropped = 0;

	engine->read(&now);
	for (int i = FWD_DROP_FIRST; i < FWD_VERDICTS; i++)
		dropped += verdicts[i];
	fprintf(out, "{\"event\": \"counters\", \"sequence\": %lu", ++sequence);
	fprintf(out, ", \"received\": %llu, \"forwarded\": %llu, \"dropped\": %llu",
		verdicts[FWD_FORWARDED] + dropped, verdicts[FWD_FORWARDED], dropped);
	fprintf(out, ", \"passed\": %llu, \"drops\": {", verdicts[FWD_PASSED]);
	for (int i = FWD_DROP_FIRST; i < FWD_VERDICTS; i++)
		fprintf(out, "%s\"%s\": %llu", i == FWD_DROP_FIRST ? "" : ", ", drop_names[i],
			verdicts[i]);
	fprintf(out, "}, \"paths\": [");
	for (unsigned int i = 0; i < now.path_count; i++)
		fprintf(out, "%s{\"spi\": %u, \"si\": %u, \"packets\": %llu}", i ? ", " : "",
			now.paths[i].path >> 8, now.paths[i].path & 0xff, now.paths[i].packets);
	fprintf(out, "], \"workers\": [");
	for (unsigned int i = 0; i < now.worker_count; i++)
		fprintf(out, "%s%llu", i ? ", " : "", now.workers[i]);
	fprintf(out, "], \"paths_untracked\": %llu, \"sequence_end\": %lu}\n",
		now.totals.paths_untracked, sequence);
	stats_end(print);
}

static int forward(const struct options *options, const sigset_t *signals)
{
	const struct engine *engine = options->engine;
	struct interface interface;

	if (stats_open(options->stats))
		return 1;
	if (find_interface(options->interface, &interface) ||
	    engine->start(&interface, &options->cpus)) {
		json_failed(stats_begin());
		stats_end(true);
		return 1;
	}
	printf("{\"event\": \"ready\", \"engine\": \"%s\", \"interface\": ", engine->name);
	json_string(stdout, interface.name);
	puts("}");
	fflush(stdout);
	report_counters(engine, false);
	while (signals_ask_for_counters(signals))
		report_counters(engine, true);
	engine->stop();
	report_counters(engine, true);
	return 0;
}

int main(int argc, char **argv)
{
	const struct options *options = parse_options(argc, argv);
	sigset_t signals;

	libbpf_log_keep();
	if (options->attach_pass)
		return attach_pass(options->names, options->name_count) ? 1 : 0;
	signals_block(&signals);
	return forward(options, &signals);
}
