/* SPDX-License-Identifier: Apache-2.0 */
/* Classifier rules: their prefixes and port ranges become masked 5-tuples. */
#pragma once

#include "tables.h"
#include "words.h"

/* Not given: any port. */
struct port_range {
	long low, high;
	bool given;
};

/* Not given: any address, with a length of 0. */
struct prefix {
	__be32 address[4]; /* IPv4: the first alone */
	long bits; /* its length */
	bool given;
};

/* A rule as its line says it. */
struct rule_text {
	__u8 port; /* where packets come in */
	__u32 path; /* SPI << 8 | SI */
	__u8 version; /* 0: either */
	bool has_protocol;
	__u8 protocol;
	struct prefix source, destination;
	struct port_range source_port, destination_port;
};

/* Take one condition of a rule from the line. Returns 0, or -1 after complain(). */
int rule_take(struct words *words, struct rule_text *rule);

/* Add the rule to the tables, as several if its port ranges are no masks. Earlier rules win.
 * Returns 0, or -1 after complain(). */
int rule_add(struct words *words, const struct rule_text *rule, struct tables *tables);
