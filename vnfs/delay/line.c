// SPDX-License-Identifier: Apache-2.0
/* A ring of packets of any size, each whole: one that would reach over the end starts anew at the
 * beginning. All are delayed alike, so that the oldest is the next one due. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "delay.h"

#define ROOM (sizeof(struct packet) + PACKET_BYTES)
#define ALIGNED(bytes) (((bytes) + 7) & ~(size_t)7)

struct line {
	uint8_t *start;
	size_t bytes;
	size_t head; /* offset of the oldest packet */
	size_t tail; /* offset where the next goes */
	size_t wrap; /* where packets end when tail is before head */
	size_t count;
};

struct line *line_new(size_t bytes)
{
	struct line *line = calloc(1, sizeof(*line));

	if (!line) {
		complain("no memory");
		return NULL;
	}
	/* Pages count only once they have held a packet. */
	line->start = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (line->start == MAP_FAILED) {
		complain("no memory for %zu bytes of packets: %s", bytes, strerror(errno));
		free(line);
		return NULL;
	}
	line->bytes = bytes;
	return line;
}

void line_free(struct line *line)
{
	if (!line)
		return;
	munmap(line->start, line->bytes);
	free(line);
}

struct packet *line_room(struct line *line)
{
	if (line->count == 0)
		line->head = line->tail = 0;
	if (line->tail >= line->head && line->bytes - line->tail < ROOM) {
		/* Full all around when the oldest packet is too near to the beginning. */
		if (line->count && line->head <= ROOM)
			return NULL;
		line->wrap = line->tail;
		line->tail = 0;
	}
	/* An equal tail would say that the line is empty, or that it goes up to the end. */
	if (line->tail < line->head && line->head - line->tail <= ROOM)
		return NULL;
	return (struct packet *)(line->start + line->tail);
}

void line_push(struct line *line, struct packet *packet)
{
	line->tail += ALIGNED(sizeof(*packet) + packet->bytes);
	line->count++;
}

const struct packet *line_head(const struct line *line)
{
	return line->count ? (const struct packet *)(line->start + line->head) : NULL;
}

void line_pop(struct line *line)
{
	const struct packet *packet = line_head(line);

	line->head += ALIGNED(sizeof(*packet) + packet->bytes);
	line->count--;
	if (line->head > line->tail && line->head == line->wrap)
		line->head = 0;
}
