// SPDX-License-Identifier: Apache-2.0
/* Loads PPTMon's BPF programs, and reads and sets their variables. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "../common/clock.h"
#include "../common/libbpf_log.h"
#include "../common/percpu.h"
#include "program.h"

struct pptmon_bpf *program;

int program_load(const struct ppt_settings *settings)
{
	int error;

	program = pptmon_bpf__open();
	if (!program) {
		libbpf_complain_of_load("the BPF programs", errno);
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
	program = NULL;
}

__u64 program_period_ns(void)
{
	const struct ppt_settings *settings = &program->rodata->settings;
	bool samples = settings->mode == PPT_MODE_SOURCE || settings->mode == PPT_MODE_SOURCE_SINK;

	return samples ? settings->period_ns : 0;
}

/* The pick of all ones takes the first packet, as the option --choice first asks. */
void program_set_pick(__u32 pick)
{
	program->data->pick = program->rodata->settings.first ? 0xffffffff : pick;
}

void program_show_alive(void)
{
	program->bss->alive_ns = clock_ns(CLOCK_MONOTONIC);
}

__u64 program_counter(enum ppt_counter counter)
{
	__u64 sum = 0;

	percpu_sum(bpf_map__fd(program->maps.counters), counter, &sum, sizeof(sum));
	return sum;
}

void program_counters(__u64 *values)
{
	for (int i = 0; i < PPT_COUNTERS; i++)
		values[i] = program_counter((enum ppt_counter)i);
}
