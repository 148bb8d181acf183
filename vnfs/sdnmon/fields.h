/* SPDX-License-Identifier: Apache-2.0 */
/* Monitoring match fields by their names, and flows as text. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "sdnmon.h"

/* Read FIELD[/MASK],...; what follows from the fields is written to `config`. 0, or -1 after
 * complain(). */
int fields_parse(const char *text, struct sdnmon_config *config);

/* Read FIELD=VALUE,... to the key of a flow. The presence bits are those of headers whose fields are
 * named. 0, or -1 after complain(). */
int fields_parse_flow(const char *text, const struct sdnmon_config *config, struct sdnmon_key *key);

/* Print the fields of a table as an array of objects, and those of a flow as members of one. */
void fields_print(const struct sdnmon_config *config, FILE *out);
void fields_print_flow(const struct sdnmon_config *config, const struct sdnmon_key *key, FILE *out);
