// SPDX-License-Identifier: Apache-2.0
/* Reads the frames of a capture, and counts those that are left out. */
#include <inttypes.h>

#include "../../dataplane/capture/damage.h"
#include "../../dataplane/capture/left_out.h"
#include "frames.h"

static struct capture capture;
static struct frame latest;
static struct left_out left_out;
static uint64_t frames;

bool frames_open(const char *name)
{
	return capture_open(&capture, name);
}

enum capture_status frames_next(struct captured *frame)
{
	enum capture_status status = capture.next(&capture, &latest);

	if (status == CAPTURE_TRUNCATED) {
		capture_cut_off(&capture);
		return CAPTURE_DAMAGED;
	}
	if (status == CAPTURE_FRAME) {
		frames++;
		*frame = (struct captured){ latest.time_ns, frame_network(&latest) };
	}
	return status;
}

void frames_leave_out(void)
{
	left_out_count_frame(&left_out, &latest);
}

void frames_print_end(FILE *out)
{
	fprintf(out, "{\"event\": \"end\", \"frames\": %" PRIu64 ", ", frames);
	left_out_print(out, &left_out);
	fprintf(out, "}\n");
}
