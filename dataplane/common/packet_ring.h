/* SPDX-License-Identifier: Apache-2.0 */
/* A packet socket whose frames come by a memory-mapped ring (packet_mmap). It uses TPACKET_V2,
 * which hands over each frame at once; V3 waits for a block. */
#pragma once

#include <linux/if_packet.h>
#include <linux/types.h>

/* Frames of a ring. They wait there while a thread waits for its CPU. A tool that only forwards
 * has few, because a long queue is a long delay. A tool that observes attacks has more, to keep
 * a burst of them. */
#define PACKET_RING_FRAMES 2048
#define PACKET_RING_FRAMES_OBSERVED 16384

struct packet_ring {
	int socket;
	__u8 *frames; /* the ring in memory */
	unsigned int frame_count, frame_bytes; /* bytes: room of each frame with its header */
	unsigned int head; /* number of the next frame to be read */
};

/* Set an option of a socket. `of` names the socket in the complaint. Returns 0, or -1 after
 * complain(). */
int packet_option(int fd, int level, int option, const void *value, unsigned int bytes,
		  const char *of);

/* Let a socket receive nothing, until its filter is replaced or detached. Returns 0, or -1 after
 * complain(). */
int packet_drop_everything(int fd, const char *of);

/* Open a socket with a ring of so many frames (a power of 2) of up to `captured` bytes. It is
 * not bound and receives nothing yet; it never receives what the host sends. Returns 0, or -1
 * after complain(). */
int packet_ring_open(struct packet_ring *ring, unsigned int frames, unsigned int captured,
		     const char *of);

/* Return the next frame, or NULL if none has come. It is the caller's until
 * packet_ring_give_back(). */
struct tpacket2_hdr *packet_ring_next(struct packet_ring *ring);

/* Let the kernel use the place of a frame again. */
void packet_ring_give_back(struct tpacket2_hdr *frame);

/* Return how many frames found the ring of a socket full since the last call; 0 for a closed
 * socket. */
__u64 packet_drops(int fd);

/* Fetch the error that an interface leaves when it goes down: the socket works again when the
 * interface comes back. */
void packet_forget_error(int fd);

void packet_ring_close(struct packet_ring *ring);
