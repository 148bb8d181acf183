/* SPDX-License-Identifier: Apache-2.0 */
/* A file or pipe, read in large pieces. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct input {
	const char *name; /* for complaints */
	int fd;
	uint8_t *buffer;
	size_t capacity; /* of the buffer, bytes */
	size_t start, end; /* in the buffer: what was read and not used yet is between them */
	uint64_t used; /* bytes of the file or pipe before `start` */
	bool ended; /* nothing is left to be read */
};

/* Open a file; "-" is standard input. Returns false after complain(). */
bool input_open(struct input *input, const char *name);

/* Make so many bytes available, and return them; NULL if the input has fewer, or the buffer has no
 * room for them. They stay where they are until the next call. A read that fails ends the tool. */
const uint8_t *input_peek(struct input *input, size_t bytes);

/* Return how many bytes are available without reading on. */
size_t input_available(const struct input *input);

/* Skip so many of the available bytes. */
void input_skip(struct input *input, size_t bytes);
