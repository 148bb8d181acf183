// SPDX-License-Identifier: Apache-2.0
/* Reads and clears elements of per-CPU arrays. */
#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "percpu.h"

#define MOST_NUMBERS 65536 /* 512 KiB, used only as far as there are CPUs */

static __u64 values[MOST_NUMBERS];

int percpu_sum(int map, __u32 place, void *sums, unsigned int bytes)
{
	unsigned int words = bytes / (unsigned int)sizeof(*values);
	int cpus = libbpf_num_possible_cpus();
	int error;

	memset(sums, 0, bytes);
	/* The kernel writes an element for each CPU, one after the other. */
	if (cpus < 0 || (unsigned int)cpus * words > MOST_NUMBERS)
		return cpus < 0 ? cpus : -E2BIG;
	error = bpf_map_lookup_elem(map, &place, values);
	for (unsigned int i = 0; !error && i < (unsigned int)cpus * words; i++)
		((__u64 *)sums)[i % words] += values[i];
	return error;
}

int percpu_clear(int map, __u32 place, unsigned int bytes)
{
	int cpus = libbpf_num_possible_cpus();

	if (cpus < 0 || (unsigned int)cpus * bytes > sizeof(values))
		return cpus < 0 ? cpus : -E2BIG;
	memset(values, 0, (unsigned int)cpus * bytes);
	return bpf_map_update_elem(map, &place, values, BPF_ANY);
}
