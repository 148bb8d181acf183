/* SPDX-License-Identifier: Apache-2.0 */
/* Monitoring match fields by their names, and flows as text. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "sdnmon.h"

/* Read FIELD[/MASK],..., and lay out keys for these fields. Returns 0, or -1 after complain(). */
int fields_parse(const char *text, struct sdnmon_config *config);

/* Read FIELD=VALUE,... to the key of a flow. Its presence bits are those of the headers that the
 * named fields belong to, as far as the table knows them. Returns 0, or -1 after complain(). */
int fields_parse_flow(const char *text, const struct sdnmon_config *config, struct sdnmon_key *key);

/* Print the fields of a table as an array of JSON objects, and the fields that a flow has as one
 * JSON object. */
void fields_print(const struct sdnmon_config *config, FILE *out);
void fields_print_flow(const struct sdnmon_config *config, const struct sdnmon_key *key, FILE *out);

/* Fields that are chosen by number (enum sdnmon_field) instead of by text. */
struct fields_chosen {
	bool chosen[SDNMON_FIELDS];
	__u8 masks[SDNMON_FIELDS][SDNMON_FIELD_BYTES];
};

/* Return the name of a field; NULL if there is no such field, or if it cannot be chosen. */
const char *fields_name(unsigned int field);

/* Return the length of a field that can be chosen. */
unsigned int fields_bytes(unsigned int field);

/* Does a mask have bits of this field, and no others? */
bool fields_have_mask(unsigned int field, const __u8 *mask);

/* Lay out keys for these fields: write to `config` the offsets, the masks and the length of a key,
 * and up to which header frames are read. Other settings of `config` stay. */
void fields_lay_out(const struct fields_chosen *chosen, struct sdnmon_config *config);

/* Can a packet have this key? It must have no bits beyond the masks, no headers that have none
 * of the fields, and zero where a header is absent. */
bool fields_allow_key(const struct sdnmon_config *config, const struct sdnmon_key *key);
