/* SPDX-License-Identifier: Apache-2.0 */
/* PPTMon's BPF programs and their maps. */
#pragma once

#include "pptmon.h"
#include "bpf/pptmon.skel.h" /* needs pptmon.h */

extern struct pptmon_bpf *program; /* NULL: not loaded */

/* Load the programs. Returns 0, or -1 after complain(). Call program_unload() in both cases. */
int program_load(const struct ppt_settings *settings);

void program_unload(void);

__u64 program_period_ns(void); /* time between samples; 0: no source, or a sample of each packet */

/* Set the probability, in 2^-32, with which a packet is taken once a sample is due. */
void program_set_pick(__u32 pick);

/* Tell the programs that this process lives. If it has not done so for PPT_DEAD_NS, they insert
 * nothing. */
void program_show_alive(void);

/* Return a counter's sum over the CPUs; 0 if it cannot be read. */
__u64 program_counter(enum ppt_counter counter);

/* Read all counters, by enum ppt_counter. */
void program_counters(__u64 *values);
