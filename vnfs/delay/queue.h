/* SPDX-License-Identifier: Apache-2.0 */
/* A queue of packets, in the order of their arrival. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PACKET_BYTES 65536 /* largest packet that a TUN device gives */

struct queue;
struct packet {
	uint64_t received_ns; /* CLOCK_MONOTONIC */
	int tun; /* descriptor of the TUN device from which it came, and to which it goes */
	size_t bytes;
	uint8_t data[];
};

/* Make a queue with room for so many bytes. Returns NULL after complain(). */
struct queue *queue_new(size_t bytes);
void queue_free(struct queue *queue);

/* Return where the next packet may be written, with at most PACKET_BYTES of data; NULL when the
 * queue is full. */
struct packet *queue_room(struct queue *queue);

/* Add the packet that was written there to the queue. */
void queue_push(struct queue *queue, const struct packet *packet);

/* Return the oldest packet, or NULL. */
const struct packet *queue_head(const struct queue *queue);

/* Remove the oldest packet, which must exist. */
void queue_pop(struct queue *queue);
