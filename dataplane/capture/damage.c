// SPDX-License-Identifier: Apache-2.0
/* Complains about captures that cannot be read any further. */
#include <stdarg.h>
#include <stdio.h>

#include "../common/report.h"
#include "damage.h"

enum capture_status capture_damaged(const struct capture *capture, const char *format, ...)
{
	char what[128];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	complain("%s: at byte %llu, %s", capture->input.name,
		 (unsigned long long)capture->input.used, what);
	return CAPTURE_DAMAGED;
}

void capture_cut_off(const struct capture *capture)
{
	capture_damaged(capture, "a packet that the end cuts off");
}

enum capture_status capture_check_link(const struct capture *capture, const struct frame *frame)
{
	if (frame_link_known(frame->link_type))
		return CAPTURE_FRAME;
	return capture_damaged(capture,
			       "a frame of link type %u; allowed: Ethernet, raw IP, Linux cooked",
			       frame->link_type);
}
