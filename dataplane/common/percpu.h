/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <linux/types.h>

/* Sum over the CPUs of a per-CPU array's element, which is `bytes` long, all __u64. 0, or -errno. */
int percpu_sum(int map, __u32 place, void *sums, unsigned int bytes);

/* Make such an element zero on all CPUs. 0, or -errno. */
int percpu_clear(int map, __u32 place, unsigned int bytes);
