// SPDX-License-Identifier: Apache-2.0
/* Fuzzer: the words that say where sfc-sfcmon sees packets. */
#include "fuzz.h"
#include "../../vnfs/sfcmon/ebpf/places.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *volatile text = fuzz_text(data, size);
	struct place place = { 0 };

	if (setjmp(fuzz_refused) == 0)
		read_place(text, &place);
	free(text);
	return 0;
}
