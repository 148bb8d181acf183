// SPDX-License-Identifier: Apache-2.0
#include "fuzz.h"
#include "../../vnfs/sfcmon/simulator/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct path path = { 1, 255 };
	struct packet packet;

	/* The first two bytes are the link type. */
	if (size >= 2 && frame_link_known((uint32_t)(data[0] << 8 | data[1])))
		frame_parse(data + 2, size - 2, (uint32_t)(data[0] << 8 | data[1]),
			    data[0] & 1 ? NULL : &path, &packet);
	return 0;
}
