// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "../common/libbpf_log.h"
#include "pptmon.h"
#include "bpf/pptmon.skel.h" /* needs pptmon.h */
#include "program.h"

static struct pptmon_bpf *skeleton;
static __u64 *per_cpu;
static int cpus;

int program_load(const struct ppt_settings *settings)
{
	int error;

	cpus = libbpf_num_possible_cpus();
	per_cpu = calloc(cpus > 0 ? (size_t)cpus : 1, sizeof(*per_cpu));
	skeleton = pptmon_bpf__open();
	if (cpus < 0 || !per_cpu || !skeleton) {
		libbpf_complain_of_load("the BPF programs", cpus < 0 ? -cpus : errno);
		return -1;
	}
	memcpy((void *)&skeleton->rodata->settings, settings, sizeof(*settings));
	error = pptmon_bpf__load(skeleton);
	if (error) {
		libbpf_complain_of_load("the BPF programs", -error);
		return -1;
	}
	return 0;
}

void program_unload(void)
{
	pptmon_bpf__destroy(skeleton);
	free(per_cpu);
	skeleton = NULL;
	per_cpu = NULL;
}

int program_enter(void)
{
	return bpf_program__fd(skeleton->progs.enter);
}

int program_leave(void)
{
	return bpf_program__fd(skeleton->progs.leave);
}

struct ppt_gauges *program_gauges(void)
{
	return &skeleton->bss->gauges;
}

__u64 program_period_ns(void)
{
	const struct ppt_settings *settings = &skeleton->rodata->settings;
	bool samples = settings->mode == PPT_MODE_SOURCE || settings->mode == PPT_MODE_SOURCE_SINK;

	return samples ? settings->period_ns : 0;
}

void program_set_pick(__u32 pick)
{
	skeleton->data->pick = skeleton->rodata->settings.first ? 0xffffffff : pick;
}

int program_events(void)
{
	return bpf_map__fd(skeleton->maps.events);
}

void program_counters(__u64 *values)
{
	int map = bpf_map__fd(skeleton->maps.counters);

	memset(values, 0, PPT_COUNTERS * sizeof(*values));
	for (__u32 i = 0; i < PPT_COUNTERS; i++) {
		if (bpf_map_lookup_elem(map, &i, per_cpu))
			continue;
		for (int cpu = 0; cpu < cpus; cpu++)
			values[i] += per_cpu[cpu];
	}
}

const void *program_elf(size_t *bytes)
{
	return pptmon_bpf__elf_bytes(bytes);
}
