// SPDX-License-Identifier: Apache-2.0
/* Accumulates the packets of a flow, and computes features from that. */
#include <math.h>
#include <string.h>

#include "flow.h"

#define NS_PER_US 1000
#define IDLE_US 1000000 /* a longer gap divides a flow into sub-flows */
#define TCP_PSH 0x08
#define TCP_URG 0x20

static void spread_add(struct spread *spread, uint64_t value)
{
	spread->sum += value;
	spread->squares += value * value;
	if (!spread->count++ || value < spread->least)
		spread->least = value;
	if (value > spread->most)
		spread->most = value;
}

void accumulator_reset(struct accumulator *accumulator)
{
	memset(accumulator, 0, sizeof(*accumulator));
}

/* End the sub-flow if the flow was idle for long before `now_us`. */
static void note_gap(struct accumulator *accumulator, uint64_t now_us)
{
	uint64_t last_us = accumulator->last_ns / NS_PER_US;

	if (now_us - last_us <= IDLE_US)
		return;
	spread_add(&accumulator->idle, now_us - last_us);
	spread_add(&accumulator->active, last_us - accumulator->active_since_us);
	accumulator->active_since_us = now_us;
	accumulator->ways[FORWARD].has_latest = accumulator->ways[BACKWARD].has_latest = false;
}

void accumulator_add(struct accumulator *accumulator, const struct packet *packet,
		     enum direction direction, uint64_t time_ns)
{
	struct way *way = &accumulator->ways[direction];
	uint64_t now_us = time_ns / NS_PER_US;

	if (accumulator->packets++ == 0) {
		accumulator->first_ns = time_ns;
		accumulator->active_since_us = now_us;
	} else {
		note_gap(accumulator, now_us);
	}
	accumulator->last_ns = time_ns;
	if (!accumulator->dscp)
		accumulator->dscp = packet->dscp;
	spread_add(&way->length, packet->bytes);
	if (way->has_latest)
		spread_add(&way->interarrival, now_us - way->latest_us);
	way->latest_us = now_us;
	way->has_latest = true;
	way->header_bytes += packet->header_bytes;
	way->psh += (packet->tcp_flags & TCP_PSH) != 0;
	way->urg += (packet->tcp_flags & TCP_URG) != 0;
}

/* Return floor(sqrt(value)), exactly: the root as long double is off by one at most. */
static uint64_t square_root(unsigned __int128 value)
{
	unsigned __int128 root = (uint64_t)sqrtl((long double)value);

	while (root * root > value)
		root--;
	while ((root + 1) * (root + 1) <= value)
		root++;
	return (uint64_t)root;
}

/* Return the standard deviation of a sample, rounded down. The root may be taken of the integer
 * part of the variance: that gives the same integer part. */
static uint64_t deviation(const struct spread *spread)
{
	unsigned __int128 n = spread->count;

	if (n < 2)
		return 0;
	return square_root((n * spread->squares - (unsigned __int128)spread->sum * spread->sum) /
			   (n * (n - 1)));
}

/* Write the four features of a spread. Returns the place behind them. */
static uint64_t *put_spread(uint64_t *next, const struct spread *spread)
{
	*next++ = spread->least;
	*next++ = spread->count ? spread->sum / spread->count : 0;
	*next++ = spread->most;
	*next++ = deviation(spread);
	return next;
}

void accumulator_features(const struct accumulator *accumulator,
			  uint64_t features[FEATURES_COUNTED])
{
	const uint64_t last_us = accumulator->last_ns / NS_PER_US;
	const struct way *forward = &accumulator->ways[FORWARD];
	const struct way *backward = &accumulator->ways[BACKWARD];
	struct spread active = accumulator->active;
	uint64_t *next = features;

	/* The last sub-flow counts as well, so `active.count` is not 0. */
	spread_add(&active, last_us - accumulator->active_since_us);
	*next++ = forward->length.count;
	*next++ = forward->length.sum;
	*next++ = backward->length.count;
	*next++ = backward->length.sum;
	next = put_spread(next, &forward->length);
	next = put_spread(next, &backward->length);
	next = put_spread(next, &forward->interarrival);
	next = put_spread(next, &backward->interarrival);
	*next++ = last_us - accumulator->first_ns / NS_PER_US;
	next = put_spread(next, &active);
	next = put_spread(next, &accumulator->idle);
	*next++ = forward->length.count / active.count;
	*next++ = forward->length.sum / active.count;
	*next++ = backward->length.count / active.count;
	*next++ = backward->length.sum / active.count;
	*next++ = forward->psh;
	*next++ = backward->psh;
	*next++ = forward->urg;
	*next++ = backward->urg;
	*next++ = forward->header_bytes;
	*next++ = backward->header_bytes;
	*next++ = accumulator->dscp;
}
