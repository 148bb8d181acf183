// SPDX-License-Identifier: Apache-2.0
/* Prints the status and the notifications of a monitored switch. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "../../common/percpu.h"
#include "../../common/report.h"
#include "../fields.h"
#include "../ports.h"
#include "show.h"

#define POLL_MS 200

const char *const mode_names[] = { "hash", "bloom", "parse", NULL };

static int print_totals(const struct program *program)
{
	static const char *const names[SDNMON_TOTALS] = {
		[SDNMON_RECEIVED] = "received",
		[SDNMON_MONITORED] = "monitored",
		[SDNMON_UNSAMPLED] = "unsampled",
		[SDNMON_EXCLUDED] = "excluded",
		[SDNMON_WITHOUT_FIELDS] = "without_fields",
		[SDNMON_OVERFLOWED] = "overflowed",
		[SDNMON_TRUNCATED] = "malformed_truncated",
		[SDNMON_BAD_NSH] = "malformed_nsh",
		[SDNMON_BAD_IP] = "malformed_ip",
		[SDNMON_BAD_TRANSPORT] = "malformed_transport",
		[SDNMON_TOO_LONG] = "too_many_headers",
	};
	struct sdnmon_totals totals;
	int error = percpu_sum(program->totals, 0, &totals, sizeof(totals));

	if (error) {
		complain("cannot read the totals: %s", strerror(-error));
		return -1;
	}
	putchar('{');
	for (int i = 0; i < SDNMON_TOTALS; i++)
		printf("%s\"%s\": %llu", i ? ", " : "", names[i], totals.packets[i]);
	putchar('}');
	return 0;
}

int show_status(const struct state *state)
{
	const struct program *program = &state->program;
	const struct sdnmon_config *config = program->config;
	const struct sdnmon_live *live = program->live;

	printf("{\"event\": \"status\", \"mode\": \"%s\", \"ratio\": %.10g, \"slots\": %u, "
	       "\"interval_ms\": %g, \"epoch\": %llu, \"capacity\": %u, \"limit\": %llu, "
	       "\"notify\": %llu, \"entries\": %llu, \"notifications\": %llu, \"packets\": ",
	       mode_names[config->mode], (double)live->ratio / (double)SDNMON_RATIO_ONE,
	       config->slots, (double)live->clocks[live->clock].interval_ns / 1e6,
	       program_epoch(program), config->capacity, live->limit, live->notify, live->entries,
	       live->notifications);
	if (print_totals(program))
		return -1;
	fputs(", \"fields\": ", stdout);
	fields_print(config, stdout);
	fputs(", \"ports\": ", stdout);
	ports_print(state->ports, stdout);
	puts("}");
	return 0;
}

/* Print a notification (ring_buffer_sample_fn). Returns 0: others follow. */
static int print_event(void *context, void *data, size_t bytes)
{
	const struct sdnmon_event *event = data;

	(void)context;
	(void)bytes;
	printf("{\"event\": \"overflow\", \"time_ns\": %llu, \"entries\": %llu, \"notify\": "
	       "%llu}\n",
	       event->time_ns, event->entries, event->notify);
	return 0;
}

static volatile sig_atomic_t ended;

static void end(int signal)
{
	(void)signal;
	ended = 1;
}

int show_events(struct state *state, bool wait)
{
	struct ring_buffer *ring;
	int polled;

	if (!state_is_on(state)) {
		complain("%s: monitoring is off", state->folder);
		return -1;
	}
	if (program_open(state->current, &state->program))
		return -1;
	ring = ring_buffer__new(state->program.events, print_event, NULL, NULL);
	if (!ring) {
		complain("cannot read notifications: %s", strerror(errno));
		return -1;
	}
	signal(SIGTERM, end);
	signal(SIGINT, end);
	do {
		polled = wait ? ring_buffer__poll(ring, POLL_MS) : ring_buffer__consume(ring);
		fflush(stdout);
	} while (wait && !ended && state_is_on(state) && (polled >= 0 || polled == -EINTR));
	ring_buffer__free(ring);
	return 0;
}
