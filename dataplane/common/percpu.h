/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of per-CPU arrays of BPF. */
#pragma once

#include <linux/types.h>

/* Sum an element of a per-CPU array over the CPUs. It is `bytes` long, all __u64. Returns 0, or
 * -errno. */
int percpu_sum(int map, __u32 place, void *sums, unsigned int bytes);

/* Set an element of a per-CPU array to zero on all CPUs. Returns 0, or -errno. */
int percpu_clear(int map, __u32 place, unsigned int bytes);
