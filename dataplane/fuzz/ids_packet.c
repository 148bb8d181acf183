// SPDX-License-Identifier: Apache-2.0
#include "fuzz.h"
#include "../../vnfs/ids/packet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct packet packet;

	packet_parse(data, (uint32_t)size, &packet);
	if (size >= 2)
		packet_parse_payload(data + 2, (uint32_t)(size - 2),
				     (uint16_t)(data[0] << 8 | data[1]), &packet);
	return 0;
}
