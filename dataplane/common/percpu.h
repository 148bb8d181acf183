/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of per-CPU arrays of BPF. */
#pragma once

#include <linux/types.h>

/* Sum the element at `place` of a per-CPU array over the CPUs, number by number, into `sums`. It
 * consists of __u64, `bytes` long in all. Returns 0, or -errno. */
int percpu_sum(int map, __u32 place, void *sums, unsigned int bytes);

/* Set such an element to zero on all CPUs. Returns 0, or -errno. */
int percpu_clear(int map, __u32 place, unsigned int bytes);
