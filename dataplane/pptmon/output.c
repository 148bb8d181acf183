// SPDX-License-Identifier: Apache-2.0
/* Keeps lines for stdout until their reader takes them. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output.h"

#define FULL_BYTES (1 << 20)

static char *kept;
static size_t kept_bytes;
static size_t written; /* bytes of `kept` that were written */

FILE *output_stream(void)
{
	static FILE *stream;

	if (!stream)
		stream = open_memstream(&kept, &kept_bytes);
	return stream;
}

/* Return how many bytes are kept. */
static size_t unwritten(void)
{
	fflush(output_stream()); /* updates `kept` and `kept_bytes` */
	return kept_bytes - written;
}

bool output_full(void)
{
	return unwritten() > FULL_BYTES;
}

bool output_pending(void)
{
	return unwritten() > 0;
}

/* Wait until stdout takes something. Returns 1 if it does, 0 if it does not yet, -1 if nobody
 * reads it. */
static int writable(int timeout_ms)
{
	struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };
	int count = poll(&out, 1, timeout_ms);

	if (count < 0)
		return errno == EINTR ? 0 : -1;
	if (count > 0 && (out.revents & (POLLERR | POLLNVAL)))
		return -1;
	return count > 0 && (out.revents & POLLOUT);
}

/* Write as much as never blocks: a pipe that polls as writable takes PIPE_BUF bytes (pipe(7)).
 * Returns 0, or -1 if nobody reads it. */
static int write_some(void)
{
	size_t bytes = unwritten();
	ssize_t count = write(STDOUT_FILENO, kept + written, bytes < PIPE_BUF ? bytes : PIPE_BUF);

	if (count < 0)
		return errno == EINTR || errno == EAGAIN ? 0 : -1;
	written += (size_t)count;
	if (written == kept_bytes) {
		rewind(output_stream());
		written = 0;
	}
	return 0;
}

/* Write what is kept, waiting each time up to so long for the reader. Returns 0, also if the reader
 * was too slow, or -1 if nobody reads it. */
static int flush_within(int timeout_ms)
{
	if (ferror(output_stream()))
		return -1;
	while (output_pending()) {
		int status = writable(timeout_ms);

		if (status <= 0)
			return status;
		if (write_some())
			return -1;
	}
	return 0;
}

int output_flush(void)
{
	return flush_within(0);
}

int output_finish(int timeout_ms)
{
	return flush_within(timeout_ms) || output_pending() ? -1 : 0;
}
