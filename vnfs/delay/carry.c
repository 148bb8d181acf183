// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "delay.h"

/* This near to a packet's time nothing else is begun: reading a packet takes about as long. */
#define HANDS_OFF_NS 3000

/* Only this thread writes: no read-modify-write is needed. */
static void add(_Atomic uint64_t *counter, uint64_t amount)
{
	uint64_t old = atomic_load_explicit(counter, memory_order_relaxed);

	atomic_store_explicit(counter, old + amount, memory_order_relaxed);
}

static void note_delay(struct statistics *statistics, uint64_t delay_ns)
{
	if (delay_ns < atomic_load_explicit(&statistics->delay_min_ns, memory_order_relaxed))
		atomic_store_explicit(&statistics->delay_min_ns, delay_ns, memory_order_relaxed);
	if (delay_ns > atomic_load_explicit(&statistics->delay_max_ns, memory_order_relaxed))
		atomic_store_explicit(&statistics->delay_max_ns, delay_ns, memory_order_relaxed);
	add(&statistics->delay_sum_ns, delay_ns);
	add(&statistics->forwarded, 1);
}

/* The achieved delay ends where the kernel begins to take the packet. */
static void send_head(int tun, struct line *line, struct statistics *statistics)
{
	const struct packet *packet = line_head(line);
	uint64_t delay_ns = now_ns() - packet->received_ns;

	if (write(tun, packet->data, packet->bytes) == (ssize_t)packet->bytes)
		note_delay(statistics, delay_ns);
	else
		add(&statistics->dropped_send, 1);
	line_pop(line);
}

/* 1: a packet was there; 0: none; -1 after a complaint. */
static int receive(int tun, struct line *line, struct statistics *statistics)
{
	static uint8_t lost[PACKET_BYTES];
	struct packet *packet = line_room(line);
	ssize_t bytes = read(tun, packet ? packet->data : lost, PACKET_BYTES);

	if (bytes < 0) {
		if (errno == EAGAIN || errno == EINTR)
			return 0;
		complain("cannot read from the TUN device: %s", strerror(errno));
		return -1;
	}
	/* What the kernel says to the device itself (IPv6) is nobody's traffic. */
	if (bytes == 0 || (packet ? packet->data[0] : lost[0]) >> 4 != 4)
		return 1;
	add(&statistics->received, 1);
	if (!packet) {
		add(&statistics->dropped_full, 1);
		return 1;
	}
	packet->received_ns = now_ns();
	packet->bytes = (size_t)bytes;
	line_push(line, packet);
	return 1;
}

/* Sleep until a packet comes, the oldest is nearly due, or all shall end. Returns whether it
 * shall; without `until_ns` (0) only the other two wake. */
static bool rest(int tun, int stop, uint64_t until_ns)
{
	struct pollfd files[] = { { .fd = stop, .events = POLLIN },
				  { .fd = tun, .events = POLLIN } };
	uint64_t now = now_ns(), left = until_ns > now ? until_ns - now : 0;
	struct timespec timeout = { .tv_sec = (time_t)(left / NS_PER_S),
				    .tv_nsec = (long)(left % NS_PER_S) };

	return ppoll(files, 2, until_ns ? &timeout : NULL, NULL) > 0 && files[0].revents;
}

int carry(const struct options *options, int tun, int stop, struct line *line,
	  struct statistics *statistics)
{
	unsigned int turns = 0;

	for (;;) {
		const struct packet *head = line_head(line);
		uint64_t due = head ? head->received_ns + options->delay_ns : 0;
		uint64_t now = now_ns();
		int taken;

		/* While packets follow closely nothing is slept, and the end would not be seen. */
		if (++turns % 4096 == 0 && rest(tun, stop, 1))
			return 0;
		if (head && now >= due) {
			send_head(tun, line, statistics);
			continue;
		}
		if (head && due - now < HANDS_OFF_NS)
			continue;
		taken = receive(tun, line, statistics);
		if (taken < 0)
			return -1;
		if (taken)
			continue;
		if (!head) {
			if (rest(tun, stop, 0))
				return 0;
		} else if (due - now > options->spin_ns) {
			if (rest(tun, stop, due - options->spin_ns))
				return 0;
		}
	}
}
