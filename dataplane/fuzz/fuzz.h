/* SPDX-License-Identifier: Apache-2.0 */
/* What fuzzers share. Each hands bytes to a parser, which must neither read nor write where it
 * may not. `make FUZZ=1 fuzzers` builds them with clang's libFuzzer, which calls
 * LLVMFuzzerTestOneInput() with many inputs; it must return 0.
 * tests/integration/dataplane/test_fuzzers.py runs them. */
#pragma once

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../common/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
void __wrap_give_up(void);

const char tool_name[] = "fuzz";

/* Where a fuzzer goes on when the parser refuses an option: `setjmp(fuzz_refused)` returns again,
 * with 1. */
static jmp_buf fuzz_refused;

/* The linker puts this in the place of give_up(), which elsewhere ends the program. */
void __wrap_give_up(void)
{
	longjmp(fuzz_refused, 1);
}

/* Make a file with these bytes, and write its name into `name`. Returns its descriptor, which
 * the caller closes. */
static inline int fuzz_file(const uint8_t *data, size_t size, char name[32])
{
	int fd = memfd_create("fuzz", 0);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(name, 32, "/proc/self/fd/%d", fd);
	return fd;
}

/* Return the bytes as a string, which the caller frees. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	return text;
}
