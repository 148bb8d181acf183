// SPDX-License-Identifier: Apache-2.0
/* By the reader of SFCMon's simulator, which also parses each packet as SFCMon does: that is not
 * looked at. */
#include <inttypes.h>

#include "../../dataplane/common/report.h"
#include "../sfcmon/simulator/left_out.h"
#include "../sfcmon/simulator/trace.h"
#include "capture.h"

static struct trace trace;
static struct left_out left_out;
static uint64_t frames;

bool capture_open(const char *name)
{
	return trace_open(&trace, name, (struct path){ 0, 0 }, true);
}

enum capture_status capture_next(struct captured *frame)
{
	struct packet packet = { 0 };

	switch (trace.next(&trace, &packet)) {
	case TRACE_PACKET:
		break;
	case TRACE_TRUNCATED:
		trace_cut_off(&trace);
		return CAPTURE_UNREADABLE;
	case TRACE_END:
		return CAPTURE_END;
	default:
		return CAPTURE_UNREADABLE;
	}
	if (!trace.frame.data) {
		complain("%s has no frames; allowed: pcap, pcapng", trace.input.name);
		return CAPTURE_UNREADABLE;
	}
	frames++;
	*frame = (struct captured){ packet.ts_ns, frame_network(&trace.frame) };
	return CAPTURE_FRAME;
}

void capture_leave_out(void)
{
	struct network network = frame_network(&trace.frame);

	network_skip_tags(&network);
	left_out_count(&left_out, &network);
}

void capture_print_end(FILE *out)
{
	fprintf(out, "{\"event\": \"end\", \"frames\": %" PRIu64 ", ", frames);
	left_out_print(out, &left_out);
	fprintf(out, "}\n");
}
