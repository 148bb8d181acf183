/* SPDX-License-Identifier: Apache-2.0 */
/* The option `--cpus LIST`: a thread on each of these. */
#pragma once

#include "options.h"

#define MAX_THREADS 64

struct cpu_list {
	unsigned int count;
	int cpus[MAX_THREADS];
};

void take_cpus(const struct tool_option *option, const char *argument); /* struct cpu_list */
