/* SPDX-License-Identifier: Apache-2.0 */
/* The registers of both banks, in the kernel's memory, and what is done to them when a window
 * ends. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include <bpf/libbpf.h>

#include "../sizes.h"
#include "../thresholds.h"
#include "engine.h"

/* Set the sizes of the program's maps, before it is loaded. With another monitor than the
 * sketches, `sizes` are the least that there can be. Returns 0, or -1 after complain(). */
int registers_size(struct bpf_object *opened, const struct sizes *sizes, bool has_table);

/* Map the registers, once the program is loaded. Bank 0 gets the thresholds, and is active.
 * Returns 0, or -1 after complain(). */
int registers_open(const struct thresholds *thresholds);

/* Return how many flows were inserted in the window that goes on, and how many packets it has. */
__u64 registers_inserted(void);
__u32 registers_packets(void);

/* End the window: the idle bank is cleared, gets the thresholds, and becomes active. Returns the
 * bank of the ended window, to which nothing is written any more; -1 after complain(). */
int registers_switch(const struct thresholds *thresholds);

/* Print what a bank has counted as members of a JSON object, without braces: thresholds and
 * cells of the sketches, or flows of the table. Returns 0, or -1 after complain(). */
int registers_print(int bank, FILE *out);
