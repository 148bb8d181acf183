// SPDX-License-Identifier: Apache-2.0
/* Counts and prints frames of a capture that a tool leaves out. */
#include <inttypes.h>

#include "left_out.h"
#include "../packet/headers.h"

#define IPV4_LENGTH_BYTES 4 /* up to the end of that field */

static const char *const names[LEFT_OUT_REASONS] = {
	[LEFT_OUT_HEADERS] = "headers",
	[LEFT_OUT_IPV4_LENGTH_0] = "ipv4_length_0",
	[LEFT_OUT_NSH] = "nsh",
};

void left_out_count(struct left_out *left_out, const struct network *reached)
{
	bool ipv4 = reached->ethertype == ETH_P_IP;

	if (reached->ethertype == NSH_ETHERTYPE)
		left_out->reasons[LEFT_OUT_NSH]++;
	else if (ipv4 && bytes_left(reached->cursor) >= IPV4_LENGTH_BYTES &&
		 !be16(reached->cursor.at + 2))
		left_out->reasons[LEFT_OUT_IPV4_LENGTH_0]++;
	else if (!reached->cursor.at || ipv4 || reached->ethertype == ETH_P_IPV6)
		left_out->reasons[LEFT_OUT_HEADERS]++;
	else
		left_out->ethertypes[reached->ethertype]++;
}

void left_out_count_frame(struct left_out *left_out, const struct frame *frame)
{
	struct network network = frame_network(frame);

	/* A frame that ends within a tag is counted by the EtherType of that tag. */
	take_tags(&network.cursor, &network.ethertype, TAG_ANY, TAGS_UNLIMITED);
	left_out_count(left_out, &network);
}

void left_out_print(FILE *out, const struct left_out *left_out)
{
	const char *separator = "";

	fprintf(out, "\"left_out\": {");
	for (int reason = 0; reason < LEFT_OUT_REASONS; reason++) {
		if (!left_out->reasons[reason])
			continue;
		fprintf(out, "%s\"%s\": %" PRIu64, separator, names[reason],
			left_out->reasons[reason]);
		separator = ", ";
	}
	for (unsigned int type = 0; type < 1 << 16; type++) {
		if (!left_out->ethertypes[type])
			continue;
		fprintf(out, "%s\"ethertype_0x%04x\": %" PRIu64, separator, type,
			left_out->ethertypes[type]);
		separator = ", ";
	}
	fprintf(out, "}");
}
