/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's tables. They change all at once: a new generation is written beside the one in use,
 * and then one number says which is in use. */
#pragma once

#include <stdio.h>

#include "entries.h"
#include "sff.skel.h"
#include "tables.h"

/* Make room for so many rules, or as many as the tables have if these are more, before the programs
 * are loaded. Returns how many there may be; 0: an error. */
unsigned int maps_size(struct sff_bpf *skeleton, const struct tables *tables, unsigned int rules);

/* After the programs are loaded: map the arrays that are written directly. 0, or -1 after
 * complain(). */
int maps_open(struct sff_bpf *skeleton);

/* Write the next generation, with the interfaces of the ports (by number), and use it. 0, or -1
 * after complain(): the one in use stays. */
int maps_apply(struct sff_bpf *skeleton, const struct tables *tables, const int *interfaces);

/* Remove what only the generation before has. Packets that were on their way have arrived. */
void maps_forget_previous(struct sff_bpf *skeleton);

/* Counters as members of a JSON object, without braces. */
void maps_report(struct sff_bpf *skeleton, FILE *out);
