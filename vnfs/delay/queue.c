// SPDX-License-Identifier: Apache-2.0
/* A ring of packets of any size, each in one piece. A packet that does not fit before the end is
 * stored at the beginning. All packets are delayed alike, so the oldest is the next one due. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../dataplane/common/report.h"
#include "queue.h"

#define ROOM (sizeof(struct packet) + PACKET_BYTES) /* for the largest packet */
#define ALIGNED(bytes) (((bytes) + 7) & ~(size_t)7)

struct queue {
	uint8_t *start;
	size_t bytes;
	size_t head; /* offset of the oldest packet */
	size_t tail; /* offset where the next packet goes */
	size_t wrap; /* where packets end when tail is before head */
	size_t count;
};

struct queue *queue_new(size_t bytes)
{
	struct queue *queue = calloc(1, sizeof(*queue));

	if (!queue) {
		complain("no memory");
		return NULL;
	}
	/* A page takes no memory until it has held a packet. */
	queue->start = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (queue->start == MAP_FAILED) {
		complain("no memory for %zu bytes of packets: %s", bytes, strerror(errno));
		free(queue);
		return NULL;
	}
	queue->bytes = bytes;
	return queue;
}

void queue_free(struct queue *queue)
{
	if (!queue)
		return;
	munmap(queue->start, queue->bytes);
	free(queue);
}

struct packet *queue_room(struct queue *queue)
{
	if (queue->count == 0)
		queue->head = queue->tail = 0;
	if (queue->tail >= queue->head && queue->bytes - queue->tail < ROOM) {
		/* The ring is full if the oldest packet is too near the beginning. */
		if (queue->count && queue->head <= ROOM)
			return NULL;
		queue->wrap = queue->tail;
		queue->tail = 0;
	}
	/* The tail must not become equal to the head: that would mean that the ring is empty, or
	 * that its packets reach to the end. */
	if (queue->tail < queue->head && queue->head - queue->tail <= ROOM)
		return NULL;
	return (struct packet *)(queue->start + queue->tail);
}

void queue_push(struct queue *queue, const struct packet *packet)
{
	queue->tail += ALIGNED(sizeof(*packet) + packet->bytes);
	queue->count++;
}

const struct packet *queue_head(const struct queue *queue)
{
	return queue->count ? (const struct packet *)(queue->start + queue->head) : NULL;
}

void queue_pop(struct queue *queue)
{
	const struct packet *packet = queue_head(queue);

	queue->head += ALIGNED(sizeof(*packet) + packet->bytes);
	queue->count--;
	/* That was the last packet before the end: the next one is at the beginning. */
	if (queue->head > queue->tail && queue->head == queue->wrap)
		queue->head = 0;
}
