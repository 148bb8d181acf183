// SPDX-License-Identifier: Apache-2.0
/* Fuzzer: the option --filter of pptmon. */
#include "fuzz.h"
#include "../common/options.h"
#include "../pptmon/filter.h"
#include "../pptmon/pptmon.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *volatile text = fuzz_text(data, size);
	struct ppt_settings settings = { 0 };
	const struct tool_option option = { .name = "filter", .value = &settings };

	if (setjmp(fuzz_refused) == 0)
		take_filter(&option, text);
	free(text);
	return 0;
}
