// SPDX-License-Identifier: Apache-2.0
/* Fuzzer: a line with a rule of sfc-firewall. */
#include "fuzz.h"
#include "../../vnfs/nsh_firewall/rules.c" /* for its static functions */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *line = fuzz_text(data, size);
	const char *duration;
	union key key;
	long ms;
	int map = parse_line(line, &key, &duration);

	if (map >= 0) {
		hash_of(map, &key);
		parse_integer(duration, 0, LONGEST_MS, &ms);
	}
	free(line);
	return 0;
}
