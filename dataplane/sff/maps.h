/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's tables. All of them change at once: a new generation is written beside the one in
 * use, and then one number says which is in use. */
#pragma once

#include <stdio.h>

#include "entries.h"
#include "sff.skel.h"
#include "tables.h"

/* Make room for so many rules, or for those of the tables if these are more. Call it before the
 * programs are loaded. Returns how many rules there may be; 0: an error. */
unsigned int maps_size(struct sff_bpf *skeleton, const struct tables *tables, unsigned int rules);

/* Map the arrays that are written directly. Call it after the programs are loaded. Returns 0, or
 * -1 after complain(). */
int maps_open(struct sff_bpf *skeleton);

/* Write the next generation, with the interfaces of the ports (by number), and use it. Returns
 * 0, or -1 after complain(); then the one in use stays. */
int maps_apply(struct sff_bpf *skeleton, const struct tables *tables, const int *interfaces);

/* Remove what only the previous generation has, once its packets have arrived. */
void maps_forget_previous(struct sff_bpf *skeleton);

/* Print the counters as members of a JSON object, without braces. */
void maps_report(struct sff_bpf *skeleton, FILE *out);
