/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of XDP that send frames of their own (BPF_PROG_TEST_RUN), and how long that takes. */
#ifndef LIVE_FRAMES_H
#define LIVE_FRAMES_H

#include <net/if.h>
#include <time.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

static inline double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static inline int attach(struct bpf_object *object, const char *program, const char *interface)
{
	struct bpf_program *found = bpf_object__find_program_by_name(object, program);
	int index = (int)if_nametoindex(interface);

	return found && index && bpf_program__attach_xdp(found, index) ? 0 : -1;
}

/* Send a frame so often. A call's own cost is no part of the seconds. */
static inline int send_frames(int program, const void *frame, unsigned int bytes, int frames,
			      double *seconds)
{
	LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame, .data_size_in = bytes,
		    .flags = BPF_F_TEST_XDP_LIVE_FRAMES, .batch_size = 64, .repeat = frames);
	LIBBPF_OPTS(bpf_test_run_opts, once, .data_in = frame, .data_size_in = bytes,
		    .flags = BPF_F_TEST_XDP_LIVE_FRAMES, .batch_size = 64, .repeat = 2);
	double begin, setup;

	begin = now();
	if (bpf_prog_test_run_opts(program, &once))
		return -1;
	setup = now() - begin;
	begin = now();
	if (bpf_prog_test_run_opts(program, &options))
		return -1;
	*seconds = now() - begin - setup;
	return 0;
}

#endif
