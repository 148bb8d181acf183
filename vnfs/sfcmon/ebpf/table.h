/* SPDX-License-Identifier: Apache-2.0 */
/* The user side of the table of flows: both banks of it. */
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

/* COUNT:FLOW,... with FLOW in hexadecimal. 0, or -1 if it is none. */
int table_parse_entries(const char *text, struct table_entries *entries);

/* Flows of all of them. */
unsigned long table_count(const struct table_entries *entries);

/* Before the programs are loaded. 0, or -1 after complain(). */
int table_size(struct bpf_object *object, long flows);

/* After they are loaded: write the entries, which stay. 0, or -1 after complain(). */
int table_open(struct bpf_object *object, const struct table_entries *entries);

/* Of a bank to which no packet writes: flows that had packets count from 0 again, others lose their
 * entries, but for those that stay. 0, or -1 after complain(). */
int table_clear(int bank);

/* Its flows with packets, as a member of a JSON object. 0, or -1 after complain(). */
int table_print(int bank, FILE *out);
