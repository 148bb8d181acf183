// SPDX-License-Identifier: Apache-2.0
/* bounce OBJECT NEAR FRAMES HEX SINK [REFLECTOR [EXIT]]: sends so many frames from NEAR, prints how
 * many of them arrive at SINK per second. REFLECTOR sends back what arrives there, NEAR hands on
 * to EXIT what arrives there. */
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int attach(struct bpf_object *object, const char *program, const char *interface)
{
	struct bpf_program *found = bpf_object__find_program_by_name(object, program);
	int index = (int)if_nametoindex(interface);

	return found && index && bpf_program__attach_xdp(found, index) ? 0 : -1;
}

static int hand_on(struct bpf_object *object, const char *near, const char *name)
{
	struct bpf_map *exits = bpf_object__find_map_by_name(object, "exits");
	__u32 only = 0, index = if_nametoindex(name);

	return exits && !bpf_map_update_elem(bpf_map__fd(exits), &only, &index, 0)
		       ? attach(object, "hand_on", near)
		       : -1;
}

int main(int argc, char **argv)
{
	static unsigned char frame[1514];
	LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame,
		    .flags = BPF_F_TEST_XDP_LIVE_FRAMES, .batch_size = 64);
	LIBBPF_OPTS(bpf_test_run_opts, once, .data_in = frame, .flags = BPF_F_TEST_XDP_LIVE_FRAMES,
		    .batch_size = 64, .repeat = 2);
	struct bpf_object *object;
	struct bpf_program *send;
	struct bpf_map *variables;
	double begin, setup, took;
	struct {
		int interface;
		unsigned char header[22];
		long received;
	} what;
	int zero = 0, near;

	if (argc < 6)
		return 2;
	near = (int)if_nametoindex(argv[2]);
	options.repeat = atoi(argv[3]);
	for (const char *digits = argv[4]; digits[0] && digits[1]; digits += 2)
		sscanf(digits, "%2hhx", &frame[options.data_size_in++]);
	once.data_size_in = options.data_size_in;
	object = bpf_object__open_file(argv[1], NULL);
	if (!object || bpf_object__load(object))
		return 1;
	send = bpf_object__find_program_by_name(object, "send");
	variables = bpf_object__find_map_by_name(object, ".bss");
	memset(&what, 0, sizeof(what));
	what.interface = near;
	memcpy(what.header, frame, sizeof(what.header));
	if (!send || !variables || !near ||
	    bpf_map_update_elem(bpf_map__fd(variables), &zero, &what, 0) ||
	    attach(object, "drop", argv[5]) || (argc > 6 && attach(object, "reflect", argv[6])) ||
	    (argc > 7 && hand_on(object, argv[2], argv[7])))
		return 1;
	/* A call's own cost is no part of it. */
	begin = now();
	if (bpf_prog_test_run_opts(bpf_program__fd(send), &once))
		return 1;
	setup = now() - begin;
	begin = now();
	if (bpf_prog_test_run_opts(bpf_program__fd(send), &options))
		return 1;
	took = now() - begin - setup;
	usleep(100000);
	/* What a full queue lost has not crossed. */
	if (bpf_map_lookup_elem(bpf_map__fd(variables), &zero, &what))
		return 1;
	printf("%.0f\n", what.received / took);
	return 0;
}
