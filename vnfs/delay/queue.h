/* SPDX-License-Identifier: Apache-2.0 */
/* Packets in the order of their arrival. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PACKET_BYTES 65536 /* the largest that a TUN device gives */

struct queue;
struct packet {
	uint64_t received_ns; /* CLOCK_MONOTONIC */
	size_t bytes;
	uint8_t data[];
};

/* NULL after complain(). */
struct queue *queue_new(size_t bytes);
void queue_free(struct queue *queue);

/* Where the next packet may be written, PACKET_BYTES of data at most; NULL when the queue is full.
 * */
struct packet *queue_room(struct queue *queue);

/* Keep the packet that was written there. */
void queue_push(struct queue *queue, const struct packet *packet);

/* The oldest, or NULL. */
const struct packet *queue_head(const struct queue *queue);
void queue_pop(struct queue *queue);
