// SPDX-License-Identifier: Apache-2.0
/* Counts the packets of each flow exactly, and compares the sketch with that. */
#include <stdlib.h>
#include <string.h>

#include <linux/in.h>
#include <rte_jhash.h>

#include "../../dataplane/common/ip.h"
#include "../../dataplane/common/report.h"
#include "../../dataplane/nsh/nsh.h"
#include "parse.h"
#include "score.h"

#define FEWEST_PLACES (1 << 16)
/* The seed differs from those of the rows. */
#define SEED 0x5ca1ab1eU

struct flow_count {
	struct flow_key key;
	uint32_t packets; /* 0: the place is free */
};

/* A hash table with open addressing, of all flows of an epoch. */
static struct flow_count *flows;
static size_t places, used; /* places of the table, and those with a flow */

/* Return the place of a flow, or the free one where it belongs. `size`: places of the table, a
 * power of two. */
static struct flow_count *place(struct flow_count *table, size_t size, const struct flow_key *key)
{
	size_t at = rte_jhash(key, sizeof(*key), SEED) & (size - 1);

	while (table[at].packets && memcmp(&table[at].key, key, sizeof(*key)) != 0)
		at = (at + 1) & (size - 1);
	return &table[at];
}

/* Double the table, or make the first one. Returns 0, or -1 after complain(). */
static int grow(void)
{
	size_t size = places ? 2 * places : FEWEST_PLACES;
	struct flow_count *table = calloc(size, sizeof(*table));

	if (!table) {
		complain("no memory for %zu flows", size / 2);
		return -1;
	}
	for (size_t i = 0; i < places; i++)
		if (flows[i].packets)
			*place(table, size, &flows[i].key) = flows[i];
	free(flows);
	flows = table;
	places = size;
	return 0;
}

/* Return how far the parser could read a frame that is left out: left_out_count() tells the reason
 * by it. */
static struct network reached(const struct taken *frame, const struct parsed *parsed)
{
	if (parsed->nsh || parsed->tunnel)
		return (struct network){ .ethertype = NSH_ETHERTYPE };
	if (!parsed->ip)
		return (struct network){ 0 };
	return (struct network){ { parsed->ip, frame->data + frame->bytes }, be16(parsed->ip - 2) };
}

int score_count(const struct taken *frame, bool nsh_only, struct left_out *left_out)
{
	struct flow_count *flow;
	struct parsed parsed;

	if (parse_frame(frame->data, frame->bytes, nsh_only, 0, &parsed) == COUNT_PASSED)
		return 0;
	if (!parsed.monitored) {
		struct network at = reached(frame, &parsed);

		left_out_count(left_out, &at);
		return 0;
	}
	if (2 * used >= places && grow())
		return -1;
	flow = place(flows, places, &parsed.key);
	if (!flow->packets) {
		flow->key = parsed.key;
		used++;
	}
	flow->packets++;
	return 0;
}

void score_print(const struct work *work, struct engine *engine, uint64_t epoch)
{
	const uint32_t threshold = work->settings.threshold;
	uint64_t packets = 0, underestimated = 0, heavy = 0, true_positives = 0,
		 false_positives = 0;
	double relative_errors = 0;

	for (size_t i = 0; i < places; i++) {
		const struct flow_count *flow = &flows[i];
		uint32_t estimated;

		if (!flow->packets)
			continue;
		estimated = sketch_estimate(work, engine, &flow->key);
		relative_errors += ((double)estimated - flow->packets) / flow->packets;
		packets += flow->packets;
		underestimated += estimated < flow->packets;
		heavy += flow->packets > threshold;
		true_positives += flow->packets > threshold && estimated > threshold;
		false_positives += flow->packets <= threshold && estimated > threshold;
	}
	printf("{\"event\": \"score\", \"epoch\": %lu, \"packets\": %lu, \"flows\": %zu, "
	       "\"average_relative_error\": %.9g, \"underestimated\": %lu, \"heavy_hitters\": %lu, "
	       "\"true_positives\": %lu, \"false_positives\": %lu}\n",
	       epoch, packets, used, used ? relative_errors / (double)used : 0, underestimated,
	       heavy, true_positives, false_positives);
	if (places)
		memset(flows, 0, places * sizeof(*flows));
	used = 0;
}
