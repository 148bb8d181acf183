// SPDX-License-Identifier: Apache-2.0
/* floor OBJECT NEAR FAR BYTES FRAMES: sends so many frames from NEAR to FAR, prints frames/s. */
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	static unsigned char frame[1514];
	LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame,
		    .flags = BPF_F_TEST_XDP_LIVE_FRAMES, .batch_size = 64);
	LIBBPF_OPTS(bpf_test_run_opts, once, .data_in = frame, .flags = BPF_F_TEST_XDP_LIVE_FRAMES,
		    .batch_size = 64, .repeat = 2);
	struct bpf_program *send, *drop;
	struct bpf_object *object;
	struct bpf_map *variables;
	int zero = 0, near, far, program;
	double begin, setup, took;

	if (argc != 6)
		return 2;
	near = (int)if_nametoindex(argv[2]);
	far = (int)if_nametoindex(argv[3]);
	options.data_size_in = once.data_size_in = (unsigned int)atoi(argv[4]);
	options.repeat = atoi(argv[5]);
	object = bpf_object__open_file(argv[1], NULL);
	if (!object || bpf_object__load(object))
		return 1;
	send = bpf_object__find_program_by_name(object, "send");
	drop = bpf_object__find_program_by_name(object, "drop");
	variables = bpf_object__find_map_by_name(object, ".bss");
	if (!send || !drop || !variables || !near || !far ||
	    bpf_map_update_elem(bpf_map__fd(variables), &zero, &near, 0) ||
	    !bpf_program__attach_xdp(drop, far))
		return 1;
	program = bpf_program__fd(send);
	/* A call's own cost is no part of it. */
	begin = now();
	if (bpf_prog_test_run_opts(program, &once))
		return 1;
	setup = now() - begin;
	begin = now();
	if (bpf_prog_test_run_opts(program, &options))
		return 1;
	took = now() - begin - setup;
	printf("%.0f\n", options.repeat / took);
	return 0;
}
