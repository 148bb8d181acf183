/* SPDX-License-Identifier: Apache-2.0 */
/* The BPF programs and their maps. */
#pragma once

#include <stddef.h>

#include "pptmon.h"

/* Load. 0, or -1 after complain(). */
int program_load(const struct ppt_settings *settings);

void program_unload(void);

int program_enter(void); /* descriptors */
int program_leave(void);
struct ppt_gauges *program_gauges(void);
int program_events(void); /* descriptor of the ring */
__u64 program_period_ns(void); /* of a source; 0: no source, or each packet */

/* Probability with which a packet is taken once a sample is due, in 2^-32. */
void program_set_pick(__u32 pick);

/* Sum over the CPUs, by enum ppt_counter. */
void program_counters(__u64 *values);

/* The object that holds the programs: an ELF file. */
const void *program_elf(size_t *bytes);
