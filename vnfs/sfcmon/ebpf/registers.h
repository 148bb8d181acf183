/* SPDX-License-Identifier: Apache-2.0 */
/* The registers of both banks, in the kernel's memory, and what is done to them at a window's end. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include <bpf/libbpf.h>

#include "../sizes.h"
#include "../thresholds.h"
#include "engine.h"

/* Before the program is loaded: the sizes of its maps. 0, or -1 after complain(). With another monitor
 * than the sketches, `sizes` are the least that there can be. */
int registers_size(struct bpf_object *opened, const struct sizes *sizes, bool has_table);

/* After it is loaded. Bank 0 gets the thresholds, and is active. 0, or -1 after complain(). */
int registers_open(const struct thresholds *thresholds);

/* Flows that were inserted in the window that goes on, and its packets. */
__u64 registers_inserted(void);
__u32 registers_packets(void);

/* End the window: the idle bank is cleared, gets the thresholds, and becomes active. Returns the
 * bank of the window, to which nothing is written any more; -1 after complain(). */
int registers_switch(const struct thresholds *thresholds);

/* What was counted in it as members of a JSON object, without braces: thresholds and cells of the
 * sketches, or flows of the table. 0, or -1 after complain(). */
int registers_print(int bank, FILE *out);
