/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's tables. All of them change at once: a new generation is written beside the one in
 * use, and then one number says which is in use. */
#pragma once

#include <stdio.h>

#include "entries.h"
#include "sff.skel.h"
#include "tables.h"

/* Make room for so many rules, for those of the tables, or for 512, whichever is most. Call it
 * before the programs are loaded. Returns how many rules there may be; 0: it failed. */
unsigned int maps_size(struct sff_bpf *skeleton, const struct tables *tables, unsigned int rules);

/* Map the arrays that are written directly. Call it after the programs are loaded. Returns 0, or
 * -1 after complain(). */
int maps_open(struct sff_bpf *skeleton);

/* Write the tables as the next generation, and use it. `interfaces` are ifindexes by number of the
 * port; 0: no such port. Returns 0, or -1 after complain(); then the generation in use stays. */
int maps_apply(struct sff_bpf *skeleton, const struct tables *tables, const int *interfaces);

/* Remove the entries of the previous generation. Call it when the packets have arrived that were on
 * their way when the tables changed. */
void maps_forget_previous(struct sff_bpf *skeleton);

/* Print the counters as members of a JSON object, without braces. */
void maps_report(struct sff_bpf *skeleton, FILE *out);
