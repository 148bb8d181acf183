/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules as lines of text, times in milliseconds from now:
 *
 *	flow TIME PROTOCOL ADDRESS PORT ADDRESS PORT
 *	source TIME ADDRESS
 *	lease TIME
 *
 * A TIME of `-` removes the rule, which need not be there. An empty line ends a change.
 */
#pragma once

#include <stdio.h>

#include "table.h"

/*
 * Take the lines of one change to the table: up to an empty line, or the end. 0, or -1 after
 * complain() of the first one that is refused; those behind it are read, and do nothing. Without a
 * table (NULL), all are, and -1 is returned.
 */
int rules_change(const struct table *table, FILE *in);

/* Print those in force, as such lines. 0, or -1 after complain(). */
int rules_list(const struct table *table, FILE *out);
