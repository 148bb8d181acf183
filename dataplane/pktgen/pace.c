// SPDX-License-Identifier: Apache-2.0
/* Lets a sender sleep between packets, and stops it on signals. */
#include <signal.h>
#include <time.h>

#include "pace.h"

#define NS_PER_S 1000000000ULL
/* A sender sleeps between packets from this interval on (10,000 packets per second); for shorter
 * ones, waking up takes too long. A sender that never sleeps uses up its CPU, and loses its
 * turns where others want that CPU too. */
#define SLEEP_FROM_NS 100000ULL

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
	if (number != SIGALRM)
		stopped = 1;
}

bool pace_stopped(void)
{
	return stopped;
}

bool pace_sleep_pays(const struct pktgen_settings *settings)
{
	return settings->interval >> PKTGEN_TICKS >= SLEEP_FROM_NS;
}

void pace_sleep_until_due(const struct pktgen_settings *settings, const struct pktgen_state *state)
{
	/* Rounded up: before the fraction of a nanosecond is over, the packet is not due. */
	__u64 due = state->start_ns + (state->next >> PKTGEN_TICKS) + 1;
	__u64 end = state->start_ns + settings->duration_ns;
	struct timespec until;

	if (due > end)
		due = end;
	until.tv_sec = (time_t)(due / NS_PER_S);
	until.tv_nsec = (long)(due % NS_PER_S);
	/* The result is of no use: after a signal, the caller looks again anyway. */
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

/* SA_RESTART is not set, so a signal ends the system call in which the kernel sends. */
void pace_watch_signals(void)
{
	const struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGALRM, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
}
