/* SPDX-License-Identifier: Apache-2.0 */
/* The table of flows, with its two banks, as the user side sees it. */
#pragma once

#include <stdio.h>

#include <bpf/libbpf.h>

#include "engine.h"

#define TABLE_RANGES 64

/* Flows that differ in their source ports, which follow each other. */
struct table_range {
	struct sfcmon_flow first;
	unsigned long count;
};

struct table_entries {
	struct table_range ranges[TABLE_RANGES];
	size_t count;
};

/* Read COUNT:FLOW,... with FLOW in hexadecimal. Returns 0, or -1 if it is none. */
int table_parse_entries(const char *text, struct table_entries *entries);

/* Return how many flows the entries have together. */
unsigned long table_count(const struct table_entries *entries);

/* Set the size of the table, before the programs are loaded. Returns 0, or -1 after complain(). */
int table_size(struct bpf_object *object, long flows);

/* Write the entries, which stay, once the programs are loaded. Returns 0, or -1 after
 * complain(). */
int table_open(struct bpf_object *object, const struct table_entries *entries);

/* Clear a bank to which no packet writes. Flows that had packets count from 0 again; others lose
 * their entries, except those that stay. Returns 0, or -1 after complain(). */
int table_clear(int bank);

/* Print the flows of a bank that have packets, as a member of a JSON object. Returns 0, or -1
 * after complain(). */
int table_print(int bank, FILE *out);
