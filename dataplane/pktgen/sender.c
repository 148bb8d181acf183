// SPDX-License-Identifier: Apache-2.0
/* Sends packets by the engine that the job names. */
#include <stdio.h>
#include <sys/prctl.h>

#include "engines.h"
#include "pace.h"
#include "sender.h"

/* Return the time for which this thread was ready and had no CPU, since it began; -1 where the
 * kernel does not tell (CONFIG_SCHED_INFO). */
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
	pace_watch_signals();
	error = job->engine == ENGINE_XDP ? send_by_xdp(job, &settings, sent)
					  : send_by_packet_socket(job, &settings, sent);
	sent->waited_ns = waited_before < 0 ? -1 : waited_ns() - waited_before;
	if (settings.interval && sent->state.ended) {
		/* The first packet is due at 0, and none at the end itself. */
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
