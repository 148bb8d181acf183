/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzers: each hands bytes to a parser, which must neither read nor write where it may not. Built by
 * `make FUZZ=1 fuzzers`, with clang's libFuzzer; tests/integration/dataplane/test_fuzzers.py runs them.
 */
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

/* Where options are refused, which ends the program elsewhere: `setjmp(fuzz_refused)` returns again. */
static jmp_buf fuzz_refused;

void __wrap_give_up(void)
{
	longjmp(fuzz_refused, 1);
}

/* A file with these bytes, whose name is in the last argument. The descriptor is to be closed. */
static inline int fuzz_file(const uint8_t *data, size_t size, char name[32])
{
	int fd = memfd_create("fuzz", 0);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(name, 32, "/proc/self/fd/%d", fd);
	return fd;
}

/* The bytes as a string, to be freed. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	return text;
}
