// SPDX-License-Identifier: Apache-2.0
/* Fuzzer: a trace of sfcmon-simulate. */
#include "fuzz.h"
#include "../../vnfs/sfcmon/simulator/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct path path = { 1, 255 };
	struct packet packet;
	struct trace trace;
	char name[32];
	int fd = fuzz_file(data, size, name);

	if (trace_open(&trace, name, path, false))
		while (trace.next(&trace, &packet) == TRACE_PACKET)
			;
	free(trace.capture.input.buffer);
	close(trace.capture.input.fd);
	close(fd);
	return 0;
}
