// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "../common/libbpf_log.h"
#include "program.h"

struct pptmon_bpf *program;
static __u64 *per_cpu;
static int cpus;

int program_load(const struct ppt_settings *settings)
{
	int error;

	cpus = libbpf_num_possible_cpus();
	per_cpu = calloc(cpus > 0 ? (size_t)cpus : 1, sizeof(*per_cpu));
	program = pptmon_bpf__open();
	if (cpus < 0 || !per_cpu || !program) {
		libbpf_complain_of_load("the BPF programs", cpus < 0 ? -cpus : errno);
		return -1;
	}
	memcpy((void *)&program->rodata->settings, settings, sizeof(*settings));
	error = pptmon_bpf__load(program);
	if (error) {
		libbpf_complain_of_load("the BPF programs", -error);
		return -1;
	}
	return 0;
}

void program_unload(void)
{
	pptmon_bpf__destroy(program);
	free(per_cpu);
	program = NULL;
	per_cpu = NULL;
}

__u64 program_period_ns(void)
{
	const struct ppt_settings *settings = &program->rodata->settings;
	bool samples = settings->mode == PPT_MODE_SOURCE || settings->mode == PPT_MODE_SOURCE_SINK;

	return samples ? settings->period_ns : 0;
}

void program_set_pick(__u32 pick)
{
	program->data->pick = program->rodata->settings.first ? 0xffffffff : pick;
}

void program_counters(__u64 *values)
{
	int map = bpf_map__fd(program->maps.counters);

	memset(values, 0, PPT_COUNTERS * sizeof(*values));
	for (__u32 i = 0; i < PPT_COUNTERS; i++) {
		if (bpf_map_lookup_elem(map, &i, per_cpu))
			continue;
		for (int cpu = 0; cpu < cpus; cpu++)
			values[i] += per_cpu[cpu];
	}
}
