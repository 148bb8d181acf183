// SPDX-License-Identifier: Apache-2.0
/* Keeps messages of the agent until they are sent. */
#include <stdlib.h>

#include "output.h"

int output_open(struct output *output)
{
	*output = (struct output){ .bytes = malloc(OUTPUT_BYTES) };
	return output->bytes ? 0 : -1;
}

void output_close(struct output *output)
{
	free(output->bytes);
	output->bytes = NULL;
}

bool output_has_room(const struct output *output)
{
	return OUTPUT_BYTES - output->end >= OUTPUT_REPLY + OUTPUT_NOTIFICATIONS;
}

bool output_is_empty(const struct output *output)
{
	return output->start == output->end;
}

void output_sent(struct output *output, size_t bytes)
{
	output->start += bytes;
	if (output_is_empty(output))
		output->start = output->end = 0;
}

__u8 *output_begin(struct output *output, __u8 version, __u32 xid, __u32 type, size_t content)
{
	__u8 *message = output->bytes + output->end, *to;

	output->end += SDNMON_HEADER + content;
	to = put_header(message, version, OFPT_EXPERIMENTER, SDNMON_HEADER + content, xid);
	to = put32(to, SDNMON_EXPERIMENTER);
	return put32(to, type);
}

void output_error(struct output *output, __u8 version, __u32 xid, enum sdnmon_error code,
		  const char *text)
{
	size_t length = strlen(text), bytes = OPENFLOW_HEADER + 8 + length;
	__u8 *to = output->bytes + output->end;

	output->end += bytes;
	to = put_header(to, version, OFPT_ERROR, bytes, xid);
	to = put16(to, OFPET_EXPERIMENTER);
	to = put16(to, (__u16)code);
	to = put32(to, SDNMON_EXPERIMENTER);
	memcpy(to, text, length);
}
