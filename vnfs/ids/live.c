// SPDX-License-Identifier: Apache-2.0
/* Extracts features from live packets, in the threads that see them. */
#include "../../dataplane/common/clock.h"
#include "../../dataplane/common/counter.h"
#include "../../dataplane/common/cpus.h"
#include "../../dataplane/common/report.h"
#include "exporter.h"
#include "live.h"

#define NS_PER_MS 1000000ULL
/* So long after it arrived, a packet has reached its thread. Windows end that much later. */
#define LATE_NS (10 * NS_PER_MS)
/* Places of the table that a call of live_rest() looks at. */
#define PLACES_BETWEEN_FRAMES 64
#define PLACES_WHEN_IDLE 1024
#define WAITING 64 /* most packets that are counted together */

struct worker {
	struct extractor extractor;
	/* Packets that are already sent on, and counted together: packets do not wait for the
	 * extraction, and the extraction does not wait for the memory of each flow. */
	struct packet waiting[WAITING];
	unsigned int waiting_count;
	_Atomic uint64_t malformed; /* packets */
} __attribute__((aligned(64)));

static struct worker workers[MAX_THREADS];
static unsigned int worker_count;

int live_open(const struct extractor_settings *settings, unsigned int count)
{
	worker_count = count;
	for (unsigned int i = 0; i < count; i++) {
		struct outlet outlet = exporter_outlet(i);

		if (extractor_open(&workers[i].extractor, settings, &outlet))
			continue;
		complain("not enough memory for %u flows on each of %u threads", settings->flows,
			 count);
		return -1;
	}
	return 0;
}

/* Hand the waiting packets to the extractor. All flows are prefetched first, so that memory is
 * fetched for all of them at once. */
static void extract_waiting(struct worker *worker)
{
	struct extractor *extractor = &worker->extractor;

	for (unsigned int i = 0; i < worker->waiting_count; i++)
		extractor_prefetch_flow(extractor, &worker->waiting[i]);
	for (unsigned int i = 0; i < worker->waiting_count; i++)
		extractor_add(extractor, &worker->waiting[i]);
	worker->waiting_count = 0;
}

void live_frame(unsigned int number, const __u8 *frame, __u32 captured, __u64 time_ns)
{
	struct worker *worker = &workers[number];
	struct packet *packet;

	if (worker->waiting_count == WAITING)
		extract_waiting(worker);
	packet = &worker->waiting[worker->waiting_count];
	switch (packet_parse(frame, captured, packet)) {
	case PARSED:
		packet->time_ns = time_ns;
		extractor_prefetch_index(&worker->extractor, packet);
		worker->waiting_count++;
		break;
	case PARSED_MALFORMED:
		counter_add(&worker->malformed, 1);
		break;
	case PARSED_NOT_IP:
		break;
	}
}

bool live_rest(unsigned int number, bool idle)
{
	struct extractor *extractor = &workers[number].extractor;
	bool more;

	extract_waiting(&workers[number]);
	if (idle)
		extractor_advance(extractor, clock_ns(CLOCK_REALTIME) - LATE_NS);
	more = extractor_step(extractor, idle ? PLACES_WHEN_IDLE : PLACES_BETWEEN_FRAMES);
	exporter_wake(number);
	/* Without room, another call at once would do nothing. */
	return more && extractor->outlet.has_room(extractor->outlet.context);
}

void live_end(unsigned int number)
{
	exporter_finishing(number);
	extract_waiting(&workers[number]);
	extractor_finish(&workers[number].extractor);
	exporter_wake(number);
}

void live_print(FILE *out)
{
	uint64_t evicted = 0, malformed = 0;

	for (unsigned int i = 0; i < worker_count; i++) {
		evicted += workers[i].extractor.evicted;
		malformed += workers[i].malformed;
	}
	fprintf(out, "\"flows_evicted\": %lu, \"malformed\": %lu", evicted, malformed);
}
