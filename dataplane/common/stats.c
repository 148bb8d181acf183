// SPDX-License-Identifier: Apache-2.0
/* Writes events of a tool to its stats file and to stdout. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "report.h"
#include "stats.h"

static char page[1310720]; /* has room for the longest event: that of sfc-sff with most hops */
static size_t longest = 4096; /* bytes written so far, or room for most events */
static unsigned long sequence;
static FILE *stream;
static int fd = -1;

int stats_open(const char *path)
{
	stream = fmemopen(page, sizeof(page), "w");
	if (path)
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (stream && (!path || fd >= 0))
		return 0;
	complain("cannot write %s: %s", path ? path : "to memory", strerror(errno));
	return -1;
}

FILE *stats_begin(void)
{
	rewind(stream);
	fprintf(stream, "{\"event\": \"counters\", \"sequence\": %lu, ", ++sequence);
	return stream;
}

/* Write the event in `stream` to the file, and if `print`, to stdout as well. */
static void write_event(bool print)
{
	size_t bytes;

	fflush(stream);
	bytes = (size_t)ftell(stream);
	if (bytes > longest)
		longest = bytes;
	memset(page + bytes, ' ', longest - bytes);
	/* On a full disk the file becomes stale, as its `sequence` shows; packets still flow. */
	if (fd >= 0 && pwrite(fd, page, longest, 0) != (ssize_t)longest)
		complain("cannot write the stats file: %s", strerror(errno));
	if (print) {
		fwrite(page, 1, bytes, stdout);
		fflush(stdout);
	}
}

void stats_end(bool print)
{
	fprintf(stream, ", \"sequence_end\": %lu}\n", sequence);
	write_event(print);
}

int stats_failed(bool print)
{
	rewind(stream);
	json_failed(stream);
	write_event(print);
	return 1;
}
