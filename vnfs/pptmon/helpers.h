/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SFCPERF_PPTMON_HELPERS_H
#define SFCPERF_PPTMON_HELPERS_H

#include <stdbool.h>
#include <stddef.h>

#define MAX_HELPERS 256

struct helpers {
	bool used[MAX_HELPERS]; /* by enum bpf_func_id */
};

/* Helpers that the programs of a BPF object call, found in its instructions. 0, or -1: no object. */
int find_helpers(const void *elf, size_t bytes, struct helpers *helpers);

/* E.g. "bpf_ktime_get_tai_ns"; "helper" when it is unknown to us. */
const char *helper_name(unsigned int id);

#endif
