/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the agent itself that wait to be sent to a peer. They are whole, and in order. */
#pragma once

#include <stdbool.h>

#include "openflow.h"

#define OUTPUT_STATISTICS (512 * 1024) /* room for a piece of a statistics reply */
#define OUTPUT_REPLY (OPENFLOW_LONGEST + 1) /* room that a request finds when it is answered */
#define OUTPUT_NOTIFICATIONS 4096 /* room that only notifications take */
/* A piece of a statistics reply, two other replies behind it, and notifications. */
#define OUTPUT_BYTES (OUTPUT_STATISTICS + 2 * OUTPUT_REPLY + OUTPUT_NOTIFICATIONS)

/* Bytes from `start` to `end` wait to be sent. */
struct output {
	__u8 *bytes;
	size_t start, end;
};

/* Make an empty output. Returns 0, or -1 without memory. */
int output_open(struct output *output);
void output_close(struct output *output);

/* Is there room for a reply, and for notifications behind it? */
bool output_has_room(const struct output *output);

bool output_is_empty(const struct output *output);

/* Forget so many of the first bytes, which were sent. */
void output_sent(struct output *output, size_t bytes);

/* Append a message of SDN-Mon with `content` bytes of content. Returns the place to which the
 * caller writes these. There must be room. */
__u8 *output_begin(struct output *output, __u8 version, __u32 xid, __u32 type, size_t content);

/* Append an error that answers a request, with a text for people. There must be room. */
void output_error(struct output *output, __u8 version, __u32 xid, enum sdnmon_error code,
		  const char *text);
