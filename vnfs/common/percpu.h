/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <linux/types.h>

/* Sum over the CPUs of a per-CPU map's value at a key, which is `words` numbers. 0, or -errno. */
int percpu_sum(int map, const void *key, __u64 *sums, unsigned int words);

/* Make such a value zero on all CPUs. 0, or -errno. */
int percpu_clear(int map, const void *key, unsigned int words);
