// SPDX-License-Identifier: Apache-2.0
#include <sched.h>
#include <stdlib.h>

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
