/* SPDX-License-Identifier: Apache-2.0 */
/* A packet socket whose frames come by a memory-mapped ring (packet_mmap). TPACKET_V2: a frame is
 * handed over at once, where V3 waits for a block. */
#pragma once

#include <linux/if_packet.h>
#include <linux/types.h>

/* Frames of a ring. While a thread waits for its CPU, frames wait for it: who only forwards has few,
 * because a long queue is a long delay; who observes attacks keeps a burst of them. */
#define PACKET_RING_FRAMES 2048
#define PACKET_RING_FRAMES_OBSERVED 16384

struct packet_ring {
	int socket;
	__u8 *frames;
	unsigned int frame_count, frame_bytes;
	unsigned int head;
};

/* Set an option of a socket. 0, or -1 after complain(), which says `of` what. */
int packet_option(int fd, int level, int option, const void *value, unsigned int bytes,
		  const char *of);

/* Let a socket receive nothing, until its filter is replaced or detached. 0, or -1 after
 * complain(). */
int packet_drop_everything(int fd, const char *of);

/* A socket of its own, that is not bound, receives nothing yet, and never what the host sends; with
 * a ring of so many frames (a power of 2) of up to `captured` bytes. 0, or -1 after complain(). */
int packet_ring_open(struct packet_ring *ring, unsigned int frames, unsigned int captured,
		     const char *of);

/* The next frame, or NULL. It stays the caller's until packet_ring_give_back(). */
struct tpacket2_hdr *packet_ring_next(struct packet_ring *ring);
void packet_ring_give_back(struct tpacket2_hdr *frame);

/* Frames that found the ring of a socket full, since the last call. */
__u64 packet_drops(int fd);

/* An interface that goes down leaves an error that must be fetched; it may return. */
void packet_forget_error(int fd);

void packet_ring_close(struct packet_ring *ring);
