// SPDX-License-Identifier: Apache-2.0
/* Serves as a function of a chain: counters on SIGUSR1, windows by time and on SIGUSR2, the end
 * on SIGTERM. */
#include <errno.h>
#include <string.h>

#include "../../dataplane/common/clock.h"
#include "../../dataplane/common/report.h"
#include "../../dataplane/common/signals.h"
#include "../../dataplane/common/stats.h"
#include "serve.h"

#define NS_PER_MS 1000000LL

/* Names of the counters from IO_OVERSIZE on. */
static const char *const io_names[IO_COUNTERS] = {
	[IO_OVERSIZE] = "oversize",
	[IO_TTL_EXCEEDED] = "ttl_exceeded",
	[IO_QUEUE_FULL] = "queue_full",
	[IO_TX_FAILED] = "tx_failed",
};

static const struct work *work;
static unsigned long windows; /* windows that have ended */
static uint64_t findings; /* heavy hitters of these windows, lost ones included */
static uint64_t began_ns; /* Unix time at which the present window began */

/* --- counters --- */

/* Print how many frames were dropped, by reason. Returns their sum. Frames that are left to the
 * kernel (COUNT_PASSED, IO_PASSED) were not dropped. */
static uint64_t print_drops(FILE *out)
{
	uint64_t lost = live_lost(), dropped = lost;

	fprintf(out, "\"drops\": {\"ring_full\": %lu", lost);
	for (enum counter reason = COUNT_FIRST_DROPPED; reason < COUNTS; reason++) {
		uint64_t count = live_counter(reason);

		if (reason == COUNT_PASSED)
			continue;
		fprintf(out, ", \"%s\": %lu", counter_names[reason], count);
		dropped += count;
	}
	for (enum io_counter reason = IO_OVERSIZE; reason < IO_COUNTERS; reason++) {
		uint64_t count = live_io_counter(reason);

		fprintf(out, ", \"%s\": %lu", io_names[reason], count);
		dropped += count;
	}
	fputs("}, ", out);
	return dropped;
}

/* Write the counters to the stats file. */
static void report_counters(void)
{
	/* The engine has counted frames that could not be sent as forwarded. */
	uint64_t forwarded, unsent = live_io_counter(IO_TX_FAILED), dropped;
	FILE *out = stats_begin();

	forwarded = live_counter(COUNT_FORWARDED) - unsent;
	dropped = print_drops(out);
	fprintf(out, "\"received\": %lu, \"forwarded\": %lu, \"dropped\": %lu, \"passed\": %lu, ",
		forwarded + dropped, forwarded, dropped,
		live_counter(COUNT_PASSED) + live_io_counter(IO_PASSED));
	fprintf(out, "\"counted\": %lu, \"heavy\": %lu, \"unmonitored\": %lu, ",
		live_counter(COUNT_COUNTED), live_counter(COUNT_HEAVY),
		live_counter(COUNT_UNMONITORED));
	fprintf(out, "\"heavy_hitters\": %lu, \"workers\": [", findings);
	for (unsigned int i = 0; i < live_threads(); i++)
		fprintf(out, "%s%lu", i ? ", " : "", live_forwarded(i));
	fputs("]", out);
	stats_end(false);
}

/* --- windows --- */

/* Sums over all threads, of one window. */
struct totals {
	uint64_t monitored, unmonitored, lost, findings;
};

static void print_finding(const struct finding *finding)
{
	fputs("{", stdout);
	print_key(stdout, &finding->report.key);
	printf(", \"packets\": %u, \"found_ns\": %lu}", finding->packets, finding->found_ns);
}

/* Print what a thread found in a window, and add its totals up. */
static void take_window(const struct window *window, void *context)
{
	struct totals *totals = context;

	for (unsigned int i = 0; i < window->count; i++) {
		fputs(totals->findings++ ? ", " : "", stdout);
		print_finding(&window->findings[i]);
	}
	totals->monitored += window->monitored;
	totals->unmonitored += window->unmonitored;
	totals->lost += window->lost;
}

/* End the window, and print it. `asked`: by a signal, not by time. Returns 0, or -1 after
 * complain(). */
static int end_window(bool asked)
{
	uint64_t ended_ns = clock_ns(CLOCK_REALTIME);
	struct totals totals = { 0 };

	printf("{\"event\": \"window\", \"number\": %lu, \"asked\": %s, \"start_ns\": %lu, "
	       "\"end_ns\": %lu, \"heavy_hitters\": [",
	       windows++, asked ? "true" : "false", began_ns, ended_ns);
	if (!live_end_window(take_window, &totals)) {
		complain("a thread does not end its window");
		return -1;
	}
	printf("], \"packets\": %lu, \"unmonitored\": %lu, \"lost\": %lu}\n", totals.monitored,
	       totals.unmonitored, totals.lost);
	findings += totals.findings + totals.lost;
	if (fflush(stdout) || ferror(stdout)) {
		complain("cannot write a window: %s", strerror(errno));
		return -1;
	}
	began_ns = ended_ns;
	return 0;
}

/* Wait for a signal, and return it; 0 when the window is over, at end_ns of CLOCK_MONOTONIC. If
 * windows do not end by time, wait for a signal for ever. */
static int next_signal(const sigset_t *signals, uint64_t end_ns)
{
	int64_t left_ns = (int64_t)(end_ns - clock_ns(CLOCK_MONOTONIC));

	if (!work->window_ns)
		return signals_next(signals, 0); /* without a timeout */
	/* Rounded up: the window has ended then, and the timeout is never 0, which is for ever. */
	return left_ns > 0 ? signals_next(signals, (unsigned int)(left_ns / NS_PER_MS) + 1) : 0;
}

/* Serve signals and end windows until SIGTERM or SIGINT. Returns the exit status. */
static int serve(const sigset_t *signals)
{
	uint64_t window_ns = work->window_ns;
	uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + window_ns;

	began_ns = clock_ns(CLOCK_REALTIME);
	for (;;) {
		int taken = next_signal(signals, end_ns);

		if (taken == SIGUSR1) {
			report_counters();
			continue;
		}
		if (end_window(taken != 0))
			return stats_failed(true);
		if (taken == SIGTERM || taken == SIGINT)
			return 0;
		if (taken == SIGUSR2)
			end_ns = clock_ns(CLOCK_MONOTONIC) + window_ns;
		/* Windows whose time passed while the machine was busy become one long window. */
		while (window_ns && end_ns <= clock_ns(CLOCK_MONOTONIC))
			end_ns += window_ns;
	}
}

int serve_run(const struct work *asked, const struct live *live, const sigset_t *signals)
{
	int status;

	work = asked;
	if (live_start(work, live))
		return stats_failed(true);
	printf("{\"event\": \"ready\", \"engine\": \"%s\", \"threads\": %u}\n", work->type->name,
	       live_threads());
	fflush(stdout);
	/* Whoever started the tool takes counters in the stats file for a sign that it forwards. */
	report_counters();
	status = serve(signals);
	live_stop();
	if (!status)
		report_counters();
	return status;
}
