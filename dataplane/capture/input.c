// SPDX-License-Identifier: Apache-2.0
/* Reads a file or pipe in large pieces. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "input.h"
#include "../common/report.h"

#define CAPACITY (1 << 20)

bool input_open(struct input *input, const char *name)
{
	bool standard = strcmp(name, "-") == 0;

	*input = (struct input){
		.name = standard ? "standard input" : name,
		.fd = standard ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC),
		.buffer = malloc(CAPACITY),
		.capacity = CAPACITY,
	};
	if (!input->buffer) {
		complain("no memory to read %s", name);
		return false;
	}
	if (input->fd < 0)
		complain("%s: %s", name, strerror(errno));
	return input->fd >= 0;
}

/* Read as much as comes at once and has room. Bytes that were not used yet move to the front of the
 * buffer first. A read that fails ends the tool. */
static void fill(struct input *input)
{
	ssize_t got;

	memmove(input->buffer, input->buffer + input->start, input->end - input->start);
	input->end -= input->start;
	input->start = 0;
	do {
		got = read(input->fd, input->buffer + input->end, input->capacity - input->end);
	} while (got < 0 && errno == EINTR);
	if (got < 0) {
		complain("%s: %s", input->name, strerror(errno));
		exit(1);
	}
	input->ended = got == 0;
	input->end += (size_t)got;
}

const uint8_t *input_peek(struct input *input, size_t bytes)
{
	while (input_available(input) < bytes && !input->ended && bytes <= input->capacity)
		fill(input);
	return input_available(input) >= bytes ? input->buffer + input->start : NULL;
}

size_t input_available(const struct input *input)
{
	return input->end - input->start;
}

void input_skip(struct input *input, size_t bytes)
{
	input->start += bytes;
	input->used += bytes;
}
