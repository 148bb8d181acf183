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

/* Take the lines of one change to the table, up to an empty line or the end. Returns 0, or -1
 * after complain() about the first line that is refused; the lines behind it are read, and do
 * nothing. Without a table (NULL), all lines are read and do nothing, and -1 is returned. */
int rules_change(const struct table *table, FILE *in);

/* Print the rules in force, as such lines. Returns 0, or -1 after complain(). */
int rules_list(const struct table *table, FILE *out);
