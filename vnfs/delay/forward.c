// SPDX-License-Identifier: Apache-2.0
/* Forwards packets of TUN devices after a delay. */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "../../dataplane/common/clock.h"
#include "../../dataplane/common/counter.h"
#include "../../dataplane/common/report.h"
#include "forward.h"

#define NS_PER_S 1000000000ULL

/* No packet is read in so short a time before another one is due: reading takes about as long. */
#define READ_TIME_NS 3000

/* Count a forwarded packet and its delay. */
static void note_delay(struct statistics *statistics, uint64_t delay_ns)
{
	if (delay_ns < atomic_load_explicit(&statistics->delay_min_ns, memory_order_relaxed))
		atomic_store_explicit(&statistics->delay_min_ns, delay_ns, memory_order_relaxed);
	if (delay_ns > atomic_load_explicit(&statistics->delay_max_ns, memory_order_relaxed))
		atomic_store_explicit(&statistics->delay_max_ns, delay_ns, memory_order_relaxed);
	counter_add(&statistics->delay_sum_ns, delay_ns);
	counter_add(&statistics->forwarded, 1);
}

/* Send the oldest packet and remove it from the queue. The delay that is counted ends where the
 * kernel begins to take it. */
static void send_head(struct queue *queue, struct statistics *statistics)
{
	const struct packet *packet = queue_head(queue);
	uint64_t delay_ns = clock_ns(CLOCK_MONOTONIC) - packet->received_ns;

	if (write(packet->tun, packet->data, packet->bytes) == (ssize_t)packet->bytes)
		note_delay(statistics, delay_ns);
	else
		counter_add(&statistics->dropped_send, 1);
	queue_pop(queue);
}

/* Read a packet and add it to the queue. It is dropped if the queue is full. Returns 1 if there was
 * a packet, also one that was dropped, 0 if there was none, or -1 after complain(). */
static int receive(int tun, struct queue *queue, struct statistics *statistics)
{
	static uint8_t lost[PACKET_BYTES]; /* a packet for which there is no room */
	struct packet *packet = queue_room(queue);
	ssize_t bytes = read(tun, packet ? packet->data : lost, PACKET_BYTES);

	if (bytes < 0) {
		if (errno == EAGAIN || errno == EINTR)
			return 0;
		complain("cannot read from the TUN device: %s", strerror(errno));
		return -1;
	}
	/* Skip IPv6 packets, which are the kernel's own: it sends them by each device. */
	if (bytes == 0 || (packet ? packet->data[0] : lost[0]) >> 4 != 4)
		return 1;
	counter_add(&statistics->received, 1);
	if (!packet) {
		counter_add(&statistics->dropped_full, 1);
		return 1;
	}
	packet->received_ns = clock_ns(CLOCK_MONOTONIC);
	packet->tun = tun;
	packet->bytes = (size_t)bytes;
	queue_push(queue, packet);
	return 1;
}

/* Read a packet from each device. Returns what receive() does; 1 if any device had one. */
static int receive_from_each(const int tuns[TUNS], struct queue *queue,
			     struct statistics *statistics)
{
	int any = 0;

	for (int i = 0; i < TUNS; i++) {
		int received = receive(tuns[i], queue, statistics);

		if (received < 0)
			return -1;
		any |= received;
	}
	return any;
}

/* Sleep until a packet arrives, until `until_ns` of CLOCK_MONOTONIC (0: for ever), or until `stop`
 * is readable. Returns whether `stop` is readable. */
static bool sleep_until(uint64_t until_ns, const int tuns[TUNS], int stop)
{
	struct pollfd files[1 + TUNS] = { { .fd = stop, .events = POLLIN } };
	uint64_t now = clock_ns(CLOCK_MONOTONIC), left = until_ns > now ? until_ns - now : 0;
	struct timespec timeout = { .tv_sec = (time_t)(left / NS_PER_S),
				    .tv_nsec = (long)(left % NS_PER_S) };

	for (int i = 0; i < TUNS; i++)
		files[1 + i] = (struct pollfd){ .fd = tuns[i], .events = POLLIN };
	return ppoll(files, 1 + TUNS, until_ns ? &timeout : NULL, NULL) > 0 && files[0].revents;
}

int forward_packets(const struct options *options, const int tuns[TUNS], int stop,
		    struct queue *queue, struct statistics *statistics)
{
	unsigned int turns = 0;

	for (;;) {
		const struct packet *head = queue_head(queue);
		uint64_t due = head ? head->received_ns + options->delay_ns : 0;
		uint64_t now = clock_ns(CLOCK_MONOTONIC);
		int received;

		/* While packets follow closely, the loop never sleeps, and would not see `stop`.
		 * This only looks, because the time 1 ns is past. */
		if (++turns % 4096 == 0 && sleep_until(1, tuns, stop))
			return 0;
		if (head && now >= due) {
			send_head(queue, statistics);
			continue;
		}
		if (head && due - now < READ_TIME_NS)
			continue;
		received = receive_from_each(tuns, queue, statistics);
		if (received < 0)
			return -1;
		/* Read all packets that wait before sleeping. */
		if (received)
			continue;
		if (!head) {
			if (sleep_until(0, tuns, stop))
				return 0;
			/* Closer to its time, the clock is polled by this loop. */
		} else if (due - now > options->spin_ns) {
			if (sleep_until(due - options->spin_ns, tuns, stop))
				return 0;
		}
	}
}
