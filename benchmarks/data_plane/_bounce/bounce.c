// SPDX-License-Identifier: Apache-2.0
/* bounce OBJECT NEAR FRAMES HEX SINK [REFLECTOR [EXIT]]: sends so many frames from NEAR, prints how
 * many of them arrive at SINK per second. REFLECTOR sends back what arrives there, NEAR hands on
 * to EXIT what arrives there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../_shared/live_frames.h"

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
	struct bpf_object *object;
	struct bpf_program *send;
	struct bpf_map *variables;
	unsigned int bytes = 0;
	double took;
	struct {
		int interface;
		unsigned char header[22];
		long received;
	} what;
	int zero = 0, near;

	if (argc < 6)
		return 2;
	near = (int)if_nametoindex(argv[2]);
	for (const char *digits = argv[4]; digits[0] && digits[1]; digits += 2)
		sscanf(digits, "%2hhx", &frame[bytes++]);
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
	if (send_frames(bpf_program__fd(send), frame, bytes, atoi(argv[3]), &took))
		return 1;
	usleep(100000);
	/* What a full queue lost has not crossed. */
	if (bpf_map_lookup_elem(bpf_map__fd(variables), &zero, &what))
		return 1;
	printf("%.0f\n", what.received / took);
	return 0;
}
