/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of sfc-sff, as a text file gives them. README.md describes its lines. */
#pragma once

#include <net/if.h>
#include <stdbool.h>

#include "entries.h"

struct port_line {
	char interface[IF_NAMESIZE]; /* "": there is no such port */
	struct sff_port port; /* without ifindex */
	bool generic; /* `generic yes`: generic XDP will do where the driver has no native XDP */
};

/* A line `path`. */
struct hop_line {
	__u32 path; /* SPI << 8 | SI */
	struct sff_hop hop; /* without counter */
};

struct station_line {
	__u8 mac[6];
	struct sff_station station;
};

struct route_line {
	__be32 address;
	__u32 port;
};

/* A line `rule`, or a part of one whose port ranges are no masks. */
struct rule_line {
	struct sff_tuple tuple;
	__u32 rank; /* the lowest wins */
	__u32 path; /* SPI << 8 | SI */
};

/* A list that grows. */
#define LIST(type)                                                                                 \
	struct {                                                                                   \
		type *items;                                                                       \
		unsigned int count;                                                                \
		unsigned int room;                                                                 \
	}

struct tables {
	unsigned int most_rules; /* more are refused */
	bool has_node;
	__be32 address; /* of the node in the underlay; 0: none */
	__u8 mac[6];
	struct port_line ports[SFF_PORTS]; /* by number */
	LIST(struct hop_line) hops;
	LIST(struct station_line) stations;
	LIST(struct route_line) routes;
	LIST(struct rule_line) rules;
	struct sff_mask masks[SFF_MASKS]; /* of the rules, in the order of their first rules */
	unsigned int mask_count;
	char tap_near[IF_NAMESIZE], tap_far[IF_NAMESIZE]; /* "": there is no tap */
	bool tapped; /* `on yes` */
	__u32 trace; /* as in struct sff_settings */
};

/* Read a file with at most so many rules; a range of ports counts as several. Returns 0, or -1
 * after complain(), which names the line. The caller frees `tables` in both cases. */
int tables_read(const char *path, unsigned int most_rules, struct tables *tables);

void tables_free(struct tables *tables);
