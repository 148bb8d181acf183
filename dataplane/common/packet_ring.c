// SPDX-License-Identifier: Apache-2.0
/* Opens packet sockets with a memory-mapped ring, and reads their frames. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "packet_ring.h"
#include "report.h"

#define BLOCK_BYTES (64 * 1024)

int packet_option(int fd, int level, int option, const void *value, unsigned int bytes,
		  const char *of)
{
	if (setsockopt(fd, level, option, value, bytes) == 0)
		return 0;
	complain("socket option %d of %s: %s", option, of, strerror(errno));
	return -1;
}

int packet_drop_everything(int fd, const char *of)
{
	struct sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog program = { .len = 1, .filter = &drop };

	return packet_option(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program), of);
}

/* Return the room that a frame takes in the ring: a power of 2, so that whole frames fill a
 * block. */
static unsigned int frame_bytes_for(unsigned int captured)
{
	/* Between its own header and the frame, the kernel leaves room to align the IP header. */
	unsigned int least = TPACKET_ALIGN(TPACKET2_HDRLEN) + 2 * TPACKET_ALIGNMENT + captured;
	unsigned int bytes = 512;

	while (bytes < least)
		bytes *= 2;
	return bytes;
}

/* Map a receive ring into memory. Returns 0, or -1 after complain(). */
static int map(struct packet_ring *ring, unsigned int captured, const char *of)
{
	const int version = TPACKET_V2;
	unsigned int block = BLOCK_BYTES;
	struct tpacket_req request;
	size_t bytes;

	ring->frame_bytes = frame_bytes_for(captured);
	if (block < ring->frame_bytes)
		block = ring->frame_bytes;
	bytes = (size_t)ring->frame_bytes * ring->frame_count;
	request = (struct tpacket_req){
		.tp_block_size = block,
		.tp_block_nr = (unsigned int)(bytes / block),
		.tp_frame_size = ring->frame_bytes,
		.tp_frame_nr = ring->frame_count,
	};
	if (packet_option(ring->socket, SOL_PACKET, PACKET_VERSION, &version, sizeof(version),
			  of) ||
	    packet_option(ring->socket, SOL_PACKET, PACKET_RX_RING, &request, sizeof(request), of))
		return -1;
	ring->frames = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->socket, 0);
	if (ring->frames == MAP_FAILED) {
		complain("cannot map the receive ring: %s", strerror(errno));
		return -1;
	}
	return 0;
}

int packet_ring_open(struct packet_ring *ring, unsigned int frames, unsigned int captured,
		     const char *of)
{
	const int yes = 1;

	ring->head = 0;
	ring->frame_count = frames;
	ring->socket = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (ring->socket < 0) {
		complain("cannot open a packet socket: %s", strerror(errno));
		return -1;
	}
	if (packet_drop_everything(ring->socket, of) ||
	    packet_option(ring->socket, SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof(yes), of))
		return -1;
	return map(ring, captured, of);
}

struct tpacket2_hdr *packet_ring_next(struct packet_ring *ring)
{
	struct tpacket2_hdr *frame =
		(void *)(ring->frames + (size_t)ring->head * ring->frame_bytes);

	if (!(__atomic_load_n(&frame->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER))
		return NULL;
	ring->head = (ring->head + 1) % ring->frame_count;
	return frame;
}

void packet_ring_give_back(struct tpacket2_hdr *frame)
{
	__atomic_store_n(&frame->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
}

__u64 packet_drops(int fd)
{
	struct tpacket_stats statistics;
	socklen_t bytes = sizeof(statistics);

	/* The kernel counts from the last reading on. A closed socket was read before. */
	if (getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &statistics, &bytes))
		return 0;
	return statistics.tp_drops;
}

void packet_forget_error(int fd)
{
	int ignored;

	getsockopt(fd, SOL_SOCKET, SO_ERROR, &ignored, &(socklen_t){ sizeof(ignored) });
}

void packet_ring_close(struct packet_ring *ring)
{
	munmap(ring->frames, (size_t)ring->frame_bytes * ring->frame_count);
	close(ring->socket);
	ring->socket = -1;
}
