// SPDX-License-Identifier: Apache-2.0
/* Fuzzer: the tables' file of sfc-sff. */
#include "fuzz.h"
#include "../sff/tables.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct tables tables;
	char name[32];
	int fd = fuzz_file(data, size, name);

	tables_read(name, 512, &tables);
	tables_free(&tables);
	close(fd);
	return 0;
}
