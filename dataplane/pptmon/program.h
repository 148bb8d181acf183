/* SPDX-License-Identifier: Apache-2.0 */
/* The BPF programs and their maps. */
#pragma once

#include "pptmon.h"
#include "bpf/pptmon.skel.h" /* needs pptmon.h */

extern struct pptmon_bpf *program; /* NULL: not loaded */

/* Load. 0, or -1 after complain(). */
int program_load(const struct ppt_settings *settings);

void program_unload(void);

__u64 program_period_ns(void); /* of a source; 0: no source, or each packet */

/* Probability with which a packet is taken once a sample is due, in 2^-32. */
void program_set_pick(__u32 pick);

/* Tell the programs that this process lives. They insert nothing when it has not for long. */
void program_show_alive(void);

/* Sum over the CPUs. */
__u64 program_counter(enum ppt_counter counter);

/* All of them, by enum ppt_counter. */
void program_counters(__u64 *values);
