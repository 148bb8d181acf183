/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a whole frame, once for each context in which programs get it: the includer defines
 * SDNMON_CONTEXT, a type with `data` and `data_end`, and SDNMON_NAMED, which gives a function a
 * name of its own. */

#include "parse.bpf.h"

/* Set the cursor to where reading of the frame stopped; at first, to its start. */
static __always_inline void
SDNMON_NAMED(begin)(SDNMON_CONTEXT *ctx, const struct sdnmon_frame *frame, struct cursor *cursor)
{
	cursor->start = (void *)(long)ctx->data;
	cursor->end = (void *)(long)ctx->data_end;
	cursor->at = frame->at;
	cursor->limit = frame->limit;
	cursor->protocol = frame->protocol;
}

/* The verifier checks each of these two global functions by itself, not all ways through both. It
 * demands that they compare `frame` with NULL. For a table that does not look into tunnels nobody
 * calls them, and the verifier drops the rest. */

/* Read Ethernet, and a tunnel or NSH up to the IP packet in it. The frame keeps where that is. */
__noinline int SDNMON_NAMED(sdnmon_read_outside)(SDNMON_CONTEXT *ctx, struct sdnmon_frame *frame)
{
	struct cursor cursor;
	int reason;

	if (!frame || !config.looks_into_tunnels)
		return SDNMON_TRUNCATED;
	SDNMON_NAMED(begin)(ctx, frame, &cursor);
	reason = read_link(&cursor, frame, true);
	if (reason == SDNMON_READ)
		reason = cursor.protocol == bpf_htons(NSH_ETHERTYPE) ? read_nsh(&cursor, frame)
								     : enter_tunnel(&cursor, frame);
	frame->at = cursor.at;
	frame->limit = cursor.limit;
	frame->protocol = cursor.protocol;
	return reason;
}

/* Read IP and the transport header from where sdnmon_read_outside() stopped. */
__noinline int SDNMON_NAMED(sdnmon_read_ip)(SDNMON_CONTEXT *ctx, struct sdnmon_frame *frame)
{
	struct cursor cursor;

	if (!frame || !config.looks_into_tunnels)
		return SDNMON_TRUNCATED;
	SDNMON_NAMED(begin)(ctx, frame, &cursor);
	return read_ip(&cursor, frame);
}

/* Read a frame without looking into tunnels. There are few ways through it, and one function is
 * faster than two. */
static __noinline int SDNMON_NAMED(read_plain)(SDNMON_CONTEXT *ctx, struct sdnmon_frame *frame)
{
	struct cursor cursor;
	int reason;

	SDNMON_NAMED(begin)(ctx, frame, &cursor);
	reason = read_link(&cursor, frame, true);
	return reason == SDNMON_READ && reads_ip(frame) ? read_ip(&cursor, frame) : reason;
}

/* Read a frame to its key, which is not masked yet. Returns SDNMON_READ, or why the frame has no
 * key (enum sdnmon_total), or SDNMON_NOT_LINEAR. */
static __always_inline int SDNMON_NAMED(read_frame)(SDNMON_CONTEXT *ctx, struct sdnmon_frame *frame)
{
	int reason;

	__builtin_memset(&frame->key, 0, sizeof(frame->key));
	frame->has = 0;
	frame->header = 0;
	frame->at = 0;
	frame->limit = frame->length;
	frame->protocol = OTHER_PROTOCOL;
	if (!config.looks_into_tunnels) {
		reason = SDNMON_NAMED(read_plain)(ctx, frame);
	} else {
		reason = SDNMON_NAMED(sdnmon_read_outside)(ctx, frame);
		if (reason == SDNMON_READ && reads_ip(frame))
			reason = SDNMON_NAMED(sdnmon_read_ip)(ctx, frame);
	}
	PUT(&frame->key, SDNMON_PRESENCE, __u16, bpf_htons(frame->has & config.headers));
	return reason;
}

#undef SDNMON_CONTEXT
#undef SDNMON_NAMED
