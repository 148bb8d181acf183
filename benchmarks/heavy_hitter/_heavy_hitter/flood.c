// SPDX-License-Identifier: Apache-2.0
/* flood OBJECT NEAR FAR MS FLOWS HEX: sends a frame from NEAR for so long, with so many source
 * ports in turn, and counts what comes back to it. FAR gets a program that passes frames, if it has
 * none. Prints a line when it begins, and `SENT RECEIVED SECONDS`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../_shared/live_frames.h"

#define HEADER 22
#define AT_A_TIME 1000000 /* a call takes milliseconds to begin and to end, without a frame */

struct what {
	int interface;
	unsigned int flows;
	unsigned long sent, received;
	unsigned char header[HEADER];
};

static int has_program(const char *interface)
{
	unsigned int program = 0;

	return !bpf_xdp_query_id((int)if_nametoindex(interface), 0, &program) && program;
}

static int read_counts(int variables, struct what *what)
{
	int zero = 0;

	return bpf_map_lookup_elem(variables, &zero, what);
}

static int flood(int program, int variables, struct bpf_test_run_opts *options, double seconds)
{
	struct what before, after;
	double begin, took;

	/* What begins is no part of it. */
	if (bpf_prog_test_run_opts(program, options) || read_counts(variables, &before))
		return 1;
	puts("begins");
	fflush(stdout);
	begin = now();
	do {
		if (bpf_prog_test_run_opts(program, options))
			return 1;
		took = now() - begin;
	} while (took < seconds);
	if (read_counts(variables, &after))
		return 1;
	printf("%lu %lu %.6f\n", after.sent - before.sent, after.received - before.received, took);
	return 0;
}

int main(int argc, char **argv)
{
	static unsigned char frame[1514];
	LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame,
		    .flags = BPF_F_TEST_XDP_LIVE_FRAMES, .batch_size = 64, .repeat = AT_A_TIME);
	struct what what = { 0 };
	struct bpf_object *object;
	int zero = 0, send, variables;

	if (argc != 7)
		return 2;
	for (const char *digits = argv[6]; digits[0] && digits[1]; digits += 2)
		sscanf(digits, "%2hhx", &frame[options.data_size_in++]);
	what.interface = (int)if_nametoindex(argv[2]);
	what.flows = (unsigned int)atoi(argv[5]);
	memcpy(what.header, frame, HEADER);
	object = bpf_object__open_file(argv[1], NULL);
	if (!object || bpf_object__load(object) || !what.interface)
		return 1;
	send = bpf_program__fd(bpf_object__find_program_by_name(object, "send"));
	variables = bpf_map__fd(bpf_object__find_map_by_name(object, ".bss"));
	if (bpf_map_update_elem(variables, &zero, &what, 0) || attach(object, "drop", argv[2]))
		return 1;
	if (!has_program(argv[3]) && attach(object, "pass", argv[3]))
		return 1;
	return flood(send, variables, &options, atof(argv[4]) / 1000);
}
