// SPDX-License-Identifier: Apache-2.0
/* Engine `native`: the sketch of the P4 program in C, as a loop over bursts. All frames of a
 * burst are parsed and hashed, and the cells that they need are fetched, before the first one is
 * counted. engine.h says what the functions native_...() do. */
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_malloc.h>
#include <rte_prefetch.h>
#include <rte_swx_table_learner.h>

#include "../../dataplane/common/report.h"
#include "../../dataplane/nsh/nsh.h"
#include "engine.h"
#include "parse.h"
#include "rows.h"

#define MOST_WAITING (2 * BURST)
#define MOST_COUNT 0xffffffffU
#define REPORTS 4096
#define IPV4_ADDRESSES_AT 12
#define IPV4_BYTES 20
#define UDP_CHECKSUM_AT 6

/* A ring of frames: `count` ones, from place `first` on. */
struct queue {
	struct rte_mbuf *frames[MOST_WAITING];
	unsigned int first, count;
};

/* A frame of a burst, as far as it was worked on. */
struct job {
	struct parsed parsed;
	enum counter reason; /* COUNT_FORWARDED, or why it is not forwarded */
	uint32_t columns[MOST_ROWS]; /* of its flow, if it is monitored */
};

struct engine {
	struct settings settings;
	uint64_t *rows[MOST_ROWS]; /* each cell is epoch << 32 | count */
	uint64_t counters[COUNTS];
	void *known; /* DPDK's learner table of heavy hitters */
	void *mailbox; /* where DPDK keeps the state of a lookup */
	struct report reports[REPORTS]; /* report N is at N modulo REPORTS */
	uint64_t report_count, reports_taken; /* since the start */
	uint32_t epoch;
	/* Frames that were put, and the ports where they came in. */
	struct rte_mbuf *waiting[BURST];
	uint8_t waiting_port[BURST];
	unsigned int waiting_count;
	struct queue out[PORTS]; /* frames that are to leave, by port */
};

/* --- create --- */

/* Create the table of known heavy hitters. Returns 0, or -1 if memory is missing. */
static int create_known(struct engine *engine)
{
	uint32_t timeout = engine_timeout_s(engine->settings.expiry_s);
	struct rte_swx_table_learner_params params = {
		.key_size = sizeof(struct flow_key),
		.action_data_size = 0,
		.n_keys_max = engine->settings.flows,
		.key_timeout = &timeout,
		.n_key_timeouts = 1,
	};

	engine->known = rte_swx_table_learner_create(&params, SOCKET_ID_ANY);
	engine->mailbox = calloc(1, rte_swx_table_learner_mailbox_size_get());
	return engine->known && engine->mailbox ? 0 : -1;
}

static void native_destroy(struct engine *engine)
{
	for (unsigned int row = 0; row < MOST_ROWS; row++)
		rte_free(engine->rows[row]);
	rte_swx_table_learner_free(engine->known);
	free(engine->mailbox);
	free(engine);
}

static struct engine *native_create(const struct settings *settings, unsigned int number)
{
	struct engine *engine = calloc(1, sizeof(*engine));
	int status = engine ? 0 : -1;

	(void)number; /* only swx needs it, for names */
	if (engine) {
		engine->settings = *settings;
		status = create_known(engine);
	}
	for (unsigned int row = 0; row < settings->rows && !status; row++) {
		engine->rows[row] = rte_zmalloc(NULL, settings->columns * sizeof(uint64_t),
						RTE_CACHE_LINE_SIZE);
		status = engine->rows[row] ? 0 : -1;
	}
	if (!status)
		return engine;
	complain("not enough memory for %u rows of %u columns and %u flows", settings->rows,
		 settings->columns, settings->flows);
	if (engine)
		native_destroy(engine);
	return NULL;
}

/* --- the sketch --- */

/* Find the columns of the flow, and have their cells fetched. */
static inline void find_cells(struct engine *engine, struct job *job)
{
	struct row_key key = rows_key_of(engine->settings.seed, &job->parsed.key);

	for (uint32_t row = 0; row < engine->settings.rows; row++) {
		job->columns[row] = rows_column(&engine->settings, &key, row);
		rte_prefetch0(&engine->rows[row][job->columns[row]]);
	}
}

/* Return the count of a cell; 0 if it is of another epoch. */
static inline uint32_t count_in(uint64_t cell, uint32_t epoch)
{
	return cell >> 32 == epoch ? (uint32_t)cell : 0;
}

/* Count a packet, unless the sketch says that it is to be blocked. Returns whether its flow is a
 * heavy hitter by the sketch. */
static inline bool count(struct engine *engine, const struct job *job)
{
	const struct settings *settings = &engine->settings;
	uint32_t least = MOST_COUNT, limit = MOST_COUNT - 1, epoch = engine->epoch;
	uint32_t counts[MOST_ROWS];
	bool heavy;

	for (uint32_t row = 0; row < settings->rows; row++) {
		counts[row] = count_in(engine->rows[row][job->columns[row]], epoch);
		least = RTE_MIN(least, counts[row]);
	}
	heavy = least >= settings->threshold;
	if (heavy && settings->on_heavy == ON_HEAVY_BLOCK)
		return true;
	engine->counters[COUNT_COUNTED]++;
	/* Counts up to `limit` grow: with conservative update the smallest ones, else all but those
	 * at their maximum. */
	if (settings->conservative)
		limit = RTE_MIN(limit, least);
	for (uint32_t row = 0; row < settings->rows; row++)
		if (counts[row] <= limit)
			engine->rows[row][job->columns[row]] =
				(uint64_t)epoch << 32 | (counts[row] + 1);
	return heavy;
}

/* --- known heavy hitters --- */

/* Is the flow a heavy hitter that was found before? `now`: cycles of the time stamp counter. */
static bool is_known(struct engine *engine, const struct flow_key *key, uint64_t now)
{
	uint8_t *bytes = (uint8_t *)(uintptr_t)key, *data;
	uint64_t action;
	size_t entry;
	int hit = 0;

	/* DPDK does a lookup in steps, one a call; it returns 0 until the last one. */
	while (!rte_swx_table_learner_lookup(engine->known, engine->mailbox, now, &bytes, &action,
					     &data, &entry, &hit))
		;
	return hit;
}

/* Report a heavy hitter, and remember it: DPDK adds the flow that was looked up last, so is_known()
 * must have been called for this one. If there is no room, the sketch alone decides on its
 * packets. */
static void learn(struct engine *engine, const struct flow_key *key, uint64_t now)
{
	engine->reports[engine->report_count++ % REPORTS] =
		(struct report){ .key = *key, .epoch = engine->epoch };
	rte_swx_table_learner_add(engine->known, engine->mailbox, now, 0, NULL, 0);
}

/* --- frames --- */

static void swap(uint8_t *a, uint8_t *b, size_t bytes)
{
	uint8_t kept[6];

	memcpy(kept, a, bytes);
	memcpy(a, b, bytes);
	memcpy(b, kept, bytes);
}

/* Turn a frame round: swap its addresses, and those of its tunnel, whose UDP checksum becomes 0. */
static void reflect(uint8_t *frame, uint8_t *tunnel)
{
	swap(frame, frame + 6, 6);
	if (!tunnel)
		return;
	swap(tunnel + IPV4_ADDRESSES_AT, tunnel + IPV4_ADDRESSES_AT + 4, 4);
	memset(tunnel + IPV4_BYTES + UDP_CHECKSUM_AT, 0, 2);
}

/* Set the DSCP of an IP packet. IPv4's checksum is updated by RFC 1624, equation 3. */
static void mark(uint8_t *ip, uint32_t dscp)
{
	uint32_t sum;
	uint8_t old;

	if (ip[0] >> 4 == 6) {
		ip[0] = (uint8_t)((ip[0] & 0xf0) | dscp >> 2);
		ip[1] = (uint8_t)((ip[1] & 0x3f) | (dscp & 3) << 6);
		return;
	}
	old = ip[1];
	ip[1] = (uint8_t)((old & 3) | dscp << 2);
	sum = (uint32_t)(ip[10] << 8 | ip[11]) ^ 0xffff;
	sum += (old ^ 0xffffU) + ip[1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ((sum & 0xffff) + (sum >> 16)) ^ 0xffff;
	ip[10] = (uint8_t)(sum >> 8);
	ip[11] = (uint8_t)sum;
}

/* Queue a frame that leaves by a port. native_put() has seen to it that there is room. */
static void put_out(struct engine *engine, unsigned int port, struct rte_mbuf *frame)
{
	struct queue *queue = &engine->out[port];

	queue->frames[(queue->first + queue->count++) % MOST_WAITING] = frame;
}

/* Count the frame `number` of those that wait, and drop it or put it out. */
static void finish(struct engine *engine, const struct job *job, unsigned int number, uint64_t now)
{
	struct rte_mbuf *frame = engine->waiting[number];
	unsigned int port = engine->waiting_port[number];
	const struct settings *settings = &engine->settings;
	enum counter reason = job->reason;
	bool heavy = false;

	if (job->parsed.monitored) {
		bool was_known;

		heavy = count(engine, job);
		/* As long as no heavy hitter was found, none is known, and the table is not
		 * asked. */
		if (heavy || engine->report_count) {
			was_known = is_known(engine, &job->parsed.key, now);
			if (heavy && !was_known)
				learn(engine, &job->parsed.key, now);
			heavy |= was_known;
		}
	} else if (reason == COUNT_FORWARDED) {
		engine->counters[COUNT_UNMONITORED]++;
	}
	if (heavy && settings->on_heavy == ON_HEAVY_BLOCK)
		reason = COUNT_BLOCKED;
	else if (heavy)
		engine->counters[COUNT_HEAVY]++;
	if (heavy && settings->on_heavy == ON_HEAVY_MARK)
		mark(job->parsed.ip, settings->mark_dscp);
	engine->counters[reason]++;
	if (reason != COUNT_FORWARDED) {
		rte_pktmbuf_free(frame);
		return;
	}
	if (job->parsed.nsh)
		((struct nsh_hdr *)job->parsed.nsh)->si--;
	if (settings->reflect)
		reflect(rte_pktmbuf_mtod(frame, uint8_t *), job->parsed.tunnel);
	else
		port ^= 1;
	put_out(engine, port, frame);
}

static unsigned int native_put(struct engine *engine, unsigned int port, struct rte_mbuf **frames,
			       unsigned int count)
{
	unsigned int taken, room = BURST - engine->waiting_count;

	/* All frames that wait may leave by the same port. */
	for (unsigned int i = 0; i < PORTS; i++)
		room = RTE_MIN(room, MOST_WAITING - engine->out[i].count - engine->waiting_count);
	taken = RTE_MIN(count, room);
	for (unsigned int i = 0; i < taken; i++) {
		engine->waiting[engine->waiting_count] = frames[i];
		engine->waiting_port[engine->waiting_count++] = (uint8_t)port;
		rte_prefetch0(rte_pktmbuf_mtod(frames[i], void *));
	}
	return taken;
}

static void native_work(struct engine *engine)
{
	struct job jobs[BURST];
	uint64_t now = rte_rdtsc();

	for (unsigned int i = 0; i < engine->waiting_count; i++) {
		struct rte_mbuf *frame = engine->waiting[i];

		jobs[i].reason = parse_frame(rte_pktmbuf_mtod(frame, uint8_t *),
					     rte_pktmbuf_data_len(frame), engine->settings.nsh_only,
					     engine->settings.mac, &jobs[i].parsed);
		if (jobs[i].parsed.monitored)
			find_cells(engine, &jobs[i]);
	}
	for (unsigned int i = 0; i < engine->waiting_count; i++)
		finish(engine, &jobs[i], i, now);
	engine->waiting_count = 0;
}

static unsigned int native_get(struct engine *engine, unsigned int port, struct rte_mbuf **frames,
			       unsigned int count)
{
	struct queue *queue = &engine->out[port];
	unsigned int taken = RTE_MIN(count, queue->count);

	for (unsigned int i = 0; i < taken; i++)
		frames[i] = queue->frames[(queue->first + i) % MOST_WAITING];
	queue->first = (queue->first + taken) % MOST_WAITING;
	queue->count -= taken;
	return taken;
}

/* --- control --- */

static void native_set_epoch(struct engine *engine, uint32_t epoch)
{
	engine->epoch = epoch;
}

static uint64_t native_counter(struct engine *engine, enum counter counter)
{
	return engine->counters[counter];
}

static bool native_report(struct engine *engine, struct report *report, uint64_t *lost)
{
	uint64_t waiting = engine->report_count - engine->reports_taken;

	if (waiting > REPORTS) {
		*lost += waiting - REPORTS;
		engine->reports_taken += waiting - REPORTS;
	}
	if (!waiting)
		return false;
	*report = engine->reports[engine->reports_taken++ % REPORTS];
	return true;
}

static uint32_t native_cell(struct engine *engine, uint32_t row, uint32_t column)
{
	return count_in(engine->rows[row][column], engine->epoch);
}

const struct engine_type engine_native = {
	.name = "native",
	.create = native_create,
	.put = native_put,
	.work = native_work,
	.get = native_get,
	.set_epoch = native_set_epoch,
	.counter = native_counter,
	.report = native_report,
	.cell = native_cell,
	.destroy = native_destroy,
};
