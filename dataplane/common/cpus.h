/* SPDX-License-Identifier: Apache-2.0 */
/* The option `--cpus LIST`: one thread runs on each of these CPUs. */
#pragma once

#include <pthread.h>

#include "options.h"

#define MAX_THREADS 64

/* The CPUs of the option, in its order. */
struct cpu_list {
	unsigned int count; /* 0: the option was not given */
	int cpus[MAX_THREADS];
};

/* Start a thread on a CPU (-1: on any). Returns 0, or -1 after complain(). */
int cpus_start_thread(pthread_t *thread, int cpu, void *(*run)(void *), void *argument);

/* Take the option: its `value` is a struct cpu_list. */
void take_cpus(const struct tool_option *option, const char *argument);
