// SPDX-License-Identifier: Apache-2.0
/* Extracts records of flows from packets. */
#include <stddef.h>

#include "../../dataplane/common/counter.h"
#include "extractor.h"

#define CACHE_LINE 64

bool extractor_open(struct extractor *extractor, const struct extractor_settings *settings,
		    const struct outlet *outlet)
{
	*extractor = (struct extractor){
		.settings = *settings,
		.outlet = *outlet,
	};
	return table_open(&extractor->table, settings->flows, settings->panes) &&
	       (!settings->early_flows || sources_open(&extractor->sources, &extractor->table));
}

void extractor_close(struct extractor *extractor)
{
	sources_close(&extractor->sources);
	table_close(&extractor->table);
}

/* Make a record of what was counted, and begin to count anew. */
static void put(struct extractor *extractor, const struct flow *flow, struct accumulator *counted,
		bool early)
{
	struct record record = {
		.key = flow->key,
		.first_source = flow->first_source,
		.early = early,
		.counted = *counted,
	};

	extractor->outlet.put(extractor->outlet.context, &record);
	accumulator_reset(counted);
}

/* Make the records of a flow's windows that ended before `pane`. */
static void put_closed(struct extractor *extractor, struct flow *flow, uint64_t pane)
{
	for (unsigned int i = 0; i < extractor->settings.panes; i++) {
		struct accumulator *window = &flow->windows[i];

		if (window->packets && window->window < pane)
			put(extractor, flow, window, false);
	}
}

/* Make the records of all windows of a flow. */
static void put_all(struct extractor *extractor, struct flow *flow)
{
	put_closed(extractor, flow, UINT64_MAX);
}

/* Set the time, and the pane that it is in. */
static void set_time(struct extractor *extractor, uint64_t now_ns)
{
	extractor->now_ns = now_ns;
	extractor->pane = now_ns / extractor->settings.slide_ns;
	extractor->pane_end_ns = (extractor->pane + 1) * extractor->settings.slide_ns;
	sources_clear(&extractor->sources);
}

void extractor_advance(struct extractor *extractor, uint64_t now_ns)
{
	if (now_ns <= extractor->now_ns)
		return;
	if (now_ns < extractor->pane_end_ns) {
		extractor->now_ns = now_ns;
		return;
	}
	set_time(extractor, now_ns);
	/* A window has ended, which all flows may have been in. */
	extractor->next_place = 0;
}

/* Begin a flow with its first packet, or begin a known one anew. */
static void begin(struct extractor *extractor, struct flow *flow, const struct packet *packet)
{
	flow->first_source = packet->source;
	flow->early_made = extractor->settings.early_packets == 0;
	flow->again = false;
	flow->last_pane = extractor->pane;
	accumulator_reset(&flow->early);
}

/* Is the flow in `sources`, among those that its client has begun in this pane and that have had
 * no early record? Only such a flow may be removed from there. */
static bool is_unreported(const struct extractor *extractor, const struct flow *flow)
{
	return extractor->settings.early_flows && !flow->early_made &&
	       flow->early.first_ns + extractor->settings.slide_ns >= extractor->pane_end_ns;
}

/* Has a whole window passed without a packet of the flow? */
static bool has_ended(const struct extractor *extractor, const struct flow *flow)
{
	return extractor->pane - flow->last_pane > extractor->settings.panes;
}

/* Add a flow. If the table is full, another flow is replaced, whose records are made first. */
static struct flow *new_flow(struct extractor *extractor, const struct packet *packet,
			     uint32_t hash)
{
	struct flow *flow = table_add(&extractor->table, &packet->key, hash);

	if (!flow) {
		struct flow *victim = table_victim(&extractor->table);

		put_all(extractor, victim);
		if (is_unreported(extractor, victim))
			sources_remove(&extractor->sources, victim);
		if (!has_ended(extractor, victim)) /* else it would have been removed soon */
			counter_add(&extractor->evicted, 1);
		table_remove(&extractor->table, victim);
		flow = table_add(&extractor->table, &packet->key, hash);
	}
	begin(extractor, flow, packet);
	return flow;
}

/* Return the flow of a packet, which is new, known, or begins again. */
static struct flow *flow_of(struct extractor *extractor, const struct packet *packet)
{
	uint32_t hash = table_hash(&extractor->table, &packet->key);
	struct flow *flow = table_find(&extractor->table, &packet->key, hash);

	if (!flow)
		return new_flow(extractor, packet, hash);
	flow->again = true;
	if (has_ended(extractor, flow)) {
		put_all(extractor, flow);
		begin(extractor, flow, packet);
	}
	return flow;
}

/* Make the early record of a flow. */
static void put_early(struct extractor *extractor, struct flow *flow)
{
	if (is_unreported(extractor, flow))
		sources_remove(&extractor->sources, flow);
	put(extractor, flow, &flow->early, true);
	flow->early_made = true;
}

/* Count a new flow for its client. If the client has begun many flows, make early records of all
 * of them: one packet says little, but so many flows are no accident. */
static void add_unreported(struct extractor *extractor, struct flow *newest)
{
	uint32_t flows = sources_add(&extractor->sources, newest);

	if (flows < extractor->settings.early_flows)
		return;
	while (flows--)
		put_early(extractor, sources_oldest(&extractor->sources, newest));
}

/* Count a packet for the early record of its flow, and make that record if it is due. */
static void add_early(struct extractor *extractor, struct flow *flow, const struct packet *packet,
		      enum direction direction)
{
	accumulator_add(&flow->early, packet, direction, extractor->now_ns);
	if (flow->early.packets == 1 && extractor->settings.early_flows)
		add_unreported(extractor, flow);
	if (!flow->early_made && flow->early.packets >= extractor->settings.early_packets)
		put_early(extractor, flow);
}

/* End all windows and flows, because the clock was set. The time is 0 until the next packet. */
static void restart(struct extractor *extractor)
{
	extractor_finish(extractor);
	set_time(extractor, 0);
}

void extractor_add(struct extractor *extractor, const struct packet *packet)
{
	const unsigned int panes = extractor->settings.panes;
	enum direction direction;
	struct flow *flow;

	if (packet->time_ns + panes * extractor->settings.slide_ns < extractor->now_ns)
		restart(extractor);
	extractor_advance(extractor, packet->time_ns);
	flow = flow_of(extractor, packet);
	direction = packet->source == flow->first_source ? FORWARD : BACKWARD;
	flow->last_pane = extractor->pane;
	if (!flow->early_made)
		add_early(extractor, flow, packet, direction);
	for (unsigned int i = 0; i < panes; i++) {
		uint64_t name = extractor->pane + i;
		struct accumulator *window = &flow->windows[name % panes];

		/* An earlier window that has had this place is closed. */
		if (window->packets && window->window != name)
			put(extractor, flow, window, false);
		window->window = name;
		accumulator_add(window, packet, direction, extractor->now_ns);
	}
}

void extractor_prefetch_index(const struct extractor *extractor, const struct packet *packet)
{
	table_prefetch(&extractor->table, table_hash(&extractor->table, &packet->key));
}

/* Have so many bytes fetched, to be written. */
static void prefetch(const void *start, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += CACHE_LINE)
		__builtin_prefetch((const char *)start + i, 1);
}

void extractor_prefetch_flow(const struct extractor *extractor, const struct packet *packet)
{
	const uint32_t place =
		table_likely(&extractor->table, table_hash(&extractor->table, &packet->key));
	const struct flow *flow = table_at(&extractor->table, place);
	const struct accumulator *window =
		&flow->windows[extractor->pane % extractor->settings.panes];

	/* Few packets need what is behind these parts. */
	prefetch(flow, offsetof(struct flow, early));
	prefetch(window, offsetof(struct accumulator, active));
}

bool extractor_step(struct extractor *extractor, uint32_t places)
{
	const struct outlet *outlet = &extractor->outlet;
	uint32_t last = extractor->table.places_used;

	if (last > extractor->next_place + places)
		last = extractor->next_place + places;
	for (; extractor->next_place < last; extractor->next_place++) {
		struct flow *flow = table_at(&extractor->table, extractor->next_place);

		if (!flow->used)
			continue;
		if (outlet->has_room && !outlet->has_room(outlet->context))
			return true;
		put_closed(extractor, flow, extractor->pane);
		if (has_ended(extractor, flow))
			table_remove(&extractor->table, flow);
	}
	return extractor->next_place < extractor->table.places_used;
}

void extractor_finish(struct extractor *extractor)
{
	for (uint32_t i = 0; i < extractor->table.places_used; i++) {
		struct flow *flow = table_at(&extractor->table, i);

		if (!flow->used)
			continue;
		put_all(extractor, flow);
		table_remove(&extractor->table, flow);
	}
}
