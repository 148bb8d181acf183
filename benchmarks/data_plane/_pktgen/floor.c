// SPDX-License-Identifier: Apache-2.0
/* floor OBJECT NEAR FAR BYTES FRAMES: sends so many frames from NEAR to FAR, prints frames/s. */
#include <stdio.h>
#include <stdlib.h>

#include "../../_shared/live_frames.h"

int main(int argc, char **argv)
{
	static unsigned char frame[1514];
	struct bpf_program *send, *drop;
	struct bpf_object *object;
	struct bpf_map *variables;
	int zero = 0, near, far, frames;
	double took;

	if (argc != 6)
		return 2;
	near = (int)if_nametoindex(argv[2]);
	far = (int)if_nametoindex(argv[3]);
	frames = atoi(argv[5]);
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
	if (send_frames(bpf_program__fd(send), frame, (unsigned int)atoi(argv[4]), frames, &took))
		return 1;
	printf("%.0f\n", frames / took);
	return 0;
}
