// SPDX-License-Identifier: Apache-2.0
/* Takes the option `--cpus`, and starts threads on these CPUs. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "cpus.h"

void take_cpus(const struct tool_option *option, const char *argument)
{
	struct cpu_list *list = option->value;
	const char *next = argument;

	do {
		char *end;
		long cpu = strtol(next, &end, 10);

		if (end == next || cpu < 0 || cpu >= CPU_SETSIZE || (*end && *end != ','))
			refuse("--cpus: '%s' is not a list such as 0,1", argument);
		if (list->count == MAX_THREADS)
			refuse("--cpus: at most %d CPUs", MAX_THREADS);
		list->cpus[list->count++] = (int)cpu;
		next = *end ? end + 1 : end;
	} while (*next);
}

int cpus_start_thread(pthread_t *thread, int cpu, void *(*run)(void *), void *argument)
{
	pthread_attr_t attributes;
	cpu_set_t cpus;
	int error;

	CPU_ZERO(&cpus);
	pthread_attr_init(&attributes);
	if (cpu >= 0) {
		CPU_SET((size_t)cpu, &cpus);
		pthread_attr_setaffinity_np(&attributes, sizeof(cpus), &cpus);
	}
	error = pthread_create(thread, &attributes, run, argument);
	pthread_attr_destroy(&attributes);
	if (error && cpu >= 0)
		complain("cannot start a thread on CPU %d: %s", cpu, strerror(error));
	else if (error)
		complain("cannot start a thread: %s", strerror(error));
	return error ? -1 : 0;
}
