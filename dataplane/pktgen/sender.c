// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>

#include "sender.h"

#define NS_PER_S 1000000000ULL
/* From here on (10,000 packets per second) a sender sleeps between packets; below, waking up takes
 * too long. One that is always busy uses its CPU up, and loses turns where others want it too. */
#define SLEEP_FROM_NS 100000ULL

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
	if (number != SIGALRM)
		stopped = 1;
}

bool sender_stopped(void)
{
	return stopped;
}

bool sender_rests(const struct pktgen_settings *settings)
{
	return settings->interval >> PKTGEN_TICKS >= SLEEP_FROM_NS;
}

void sender_rest(const struct pktgen_settings *settings, const struct pktgen_state *state)
{
	__u64 due = state->start_ns + (state->next >> PKTGEN_TICKS) + 1;
	__u64 end = state->start_ns + settings->duration_ns;
	struct timespec until;

	if (due > end)
		due = end;
	until.tv_sec = (time_t)(due / NS_PER_S);
	until.tv_nsec = (long)(due % NS_PER_S);
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

/* No SA_RESTART: a signal ends the system call in which the kernel sends. */
static void watch_signals(void)
{
	const struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGALRM, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
}

/* Since this thread began; -1 where the kernel does not tell (CONFIG_SCHED_INFO). */
static long long waited_ns(void)
{
	FILE *file = fopen("/proc/thread-self/schedstat", "re");
	long long waited = -1;

	if (!file)
		return -1;
	if (fscanf(file, "%*u %lld", &waited) != 1)
		waited = -1;
	fclose(file);
	return waited;
}

int send_packets(const struct job *job, const struct interface *interface, const struct path *path,
		 struct sent *sent)
{
	long long waited_before = waited_ns();
	struct pktgen_settings settings;
	int error;

	prctl(PR_SET_TIMERSLACK, 1); /* ns; the default would delay each packet by 50 us */
	settings_make(job, interface, path, &settings);
	watch_signals();
	error = job->engine == ENGINE_XDP ? send_by_xdp(job, &settings, sent)
					  : send_by_packet_socket(job, &settings, sent);
	sent->waited_ns = waited_before < 0 ? -1 : waited_ns() - waited_before;
	if (settings.interval && sent->state.ended) {
		__u64 due = ((settings.duration_ns - 1) << PKTGEN_TICKS) / settings.interval + 1;

		sent->skipped = due > sent->state.packets ? due - sent->state.packets : 0;
	}
	return error;
}

void print_sent(const struct job *job, const struct sent *sent)
{
	const struct pktgen_state *state = &sent->state;
	char waited[24] = "null";

	if (sent->waited_ns >= 0)
		snprintf(waited, sizeof(waited), "%lld", sent->waited_ns);
	printf("\"sent\": {\"engine\": \"%s\", \"packets\": %llu, \"bytes\": %llu, "
	       "\"skipped\": %llu, \"refused\": %llu, \"elapsed_ns\": %llu, \"waited_ns\": %s, "
	       "\"complete\": %s}",
	       engine_names[job->engine], state->packets, state->bytes, sent->skipped,
	       sent->refused, state->packets ? state->last_ns - state->start_ns : 0, waited,
	       state->ended ? "true" : "false");
}
