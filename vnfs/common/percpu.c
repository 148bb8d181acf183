// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "percpu.h"

#define MOST_NUMBERS 65536 /* 512 KiB, used only as far as there are CPUs */

static __u64 values[MOST_NUMBERS];

int percpu_sum(int map, const void *key, __u64 *sums, unsigned int words)
{
	int cpus = libbpf_num_possible_cpus();
	int error;

	memset(sums, 0, words * sizeof(*sums));
	if (cpus < 0 || (unsigned int)cpus * words > MOST_NUMBERS)
		return cpus < 0 ? cpus : -E2BIG;
	error = bpf_map_lookup_elem(map, key, values);
	for (unsigned int i = 0; !error && i < (unsigned int)cpus * words; i++)
		sums[i % words] += values[i];
	return error;
}

int percpu_clear(int map, const void *key, unsigned int words)
{
	int cpus = libbpf_num_possible_cpus();

	if (cpus < 0 || (unsigned int)cpus * words > MOST_NUMBERS)
		return cpus < 0 ? cpus : -E2BIG;
	memset(values, 0, (unsigned int)cpus * words * sizeof(*values));
	return bpf_map_update_elem(map, key, values, BPF_ANY);
}
