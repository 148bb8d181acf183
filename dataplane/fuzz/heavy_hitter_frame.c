// SPDX-License-Identifier: Apache-2.0
#include "fuzz.h"
#include "../../vnfs/heavy_hitter/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct parsed parsed;
	uint8_t *frame;

	if (size < 1)
		return 0;
	frame = malloc(size - 1);
	if (!frame)
		abort();
	memcpy(frame, data + 1, size - 1);
	parse_frame(frame, (uint32_t)(size - 1), data[0] & 1, data[0] & 2 ? 0x020000000001 : 0,
		    &parsed);
	free(frame);
	return 0;
}
