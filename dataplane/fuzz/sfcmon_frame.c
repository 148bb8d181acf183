// SPDX-License-Identifier: Apache-2.0
#include "fuzz.h"
#include "../../vnfs/sfcmon/simulator/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct path path = { 1, 255 };
	struct packet packet;
	struct frame frame;

	/* The first two bytes are the link type. */
	if (size < 2)
		return 0;
	frame = (struct frame){ data + 2, size - 2, (uint32_t)(data[0] << 8 | data[1]) };
	if (frame_link_known(frame.link_type))
		frame_parse(&frame, data[0] & 1 ? NULL : &path, &packet);
	return 0;
}
