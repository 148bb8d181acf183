/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extraction: packets in, records of flows out. One extractor is one thread's.
 *
 * Time is divided into panes of `slide_ns`, counted from the epoch of Unix time. A window is as
 * long as `panes` of them, and one ends with each pane. A window is named by the number of the pane
 * with which it ends, so that a packet of pane p belongs to the windows p to p + panes - 1.
 */
#pragma once

#include "sources.h"

struct extractor_settings {
	uint64_t slide_ns;
	unsigned int panes; /* of a window */
	uint32_t flows; /* of the table: most flows */
	uint64_t early_packets; /* 0: no early records */
	uint32_t early_flows; /* 0: early records only after early_packets */
};

/* What was counted of a flow in a window, or for its early record. */
struct record {
	struct flow_key key;
	uint8_t first_source; /* the end of the key that sent the flow's first packet, the client */
	bool early;
	struct accumulator counted;
};

/* Where records go: a function that takes them. */
struct outlet {
	void *context;
	void (*put)(void *context, const struct record *record);
	/* Says whether records may come now that can also come later; NULL: always. */
	bool (*has_room)(void *context);
};

struct extractor {
	struct extractor_settings settings;
	struct outlet outlet;
	struct table table;
	struct sources sources; /* unless early_flows is 0 */
	uint64_t now_ns; /* the latest time of a packet, or the end of a closed pane */
	uint64_t pane; /* the pane of now_ns */
	uint64_t pane_end_ns;
	uint32_t next_place; /* place of the table to look at next for windows that ended */
	_Atomic uint64_t evicted; /* read by others */
};

/* Make an extractor. Returns false if there is not enough memory. */
bool extractor_open(struct extractor *extractor, const struct extractor_settings *settings,
		    const struct outlet *outlet);
void extractor_close(struct extractor *extractor);

/*
 * Count a packet.
 *
 * A packet that is earlier than the one before it counts as of the same time: interfaces and
 * threads disorder packets a little. One that is earlier by more than a window means that the clock
 * was set: all windows end, and all flows.
 */
void extractor_add(struct extractor *extractor, const struct packet *packet);

/* Have the memory fetched that extractor_add() needs: memory is most of what a packet costs. The
 * second function needs what the first one fetches. */
void extractor_prefetch_index(const struct extractor *extractor, const struct packet *packet);
void extractor_prefetch_flow(const struct extractor *extractor, const struct packet *packet);

/* Set the time: no packet from before is to come. An earlier time than the present one has no
 * effect. */
void extractor_advance(struct extractor *extractor, uint64_t now_ns);

/* Go on through the table, by so many places at most: make the records of windows that are closed,
 * and remove flows that have ended. It stops where the outlet has no room. Returns true if places
 * are left. */
bool extractor_step(struct extractor *extractor, uint32_t places);

/* End all windows, and make their records: no packets follow. */
void extractor_finish(struct extractor *extractor);
