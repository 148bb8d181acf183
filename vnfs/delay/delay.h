/* SPDX-License-Identifier: Apache-2.0 */
/* sfc-delay: what its parts share. Times are nanoseconds of CLOCK_MONOTONIC. */
#ifndef SFC_DELAY_H
#define SFC_DELAY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define NS_PER_US 1000ULL
#define NS_PER_S 1000000000ULL

struct options {
	const char *tun;
	const char *stats; /* NULL: counters on stdout only */
	uint64_t delay_ns;
	uint64_t spin_ns; /* before a packet is due, the clock is watched instead of sleeping */
	size_t buffer_bytes;
};

/* Written by the thread that carries packets, read by the one that reports. */
struct statistics {
	_Atomic uint64_t received; /* IPv4 */
	_Atomic uint64_t forwarded;
	_Atomic uint64_t dropped_full; /* no room in the buffer */
	_Atomic uint64_t dropped_send; /* the kernel did not take it back */
	_Atomic uint64_t delay_sum_ns; /* of forwarded packets, from receive to send */
	_Atomic uint64_t delay_min_ns;
	_Atomic uint64_t delay_max_ns;
};

static inline uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

void parse_options(int argc, char **argv, struct options *options);

/* A TUN device of IPv4 packets without extra header and without offloads; it goes with the
 * descriptor. -1 after a complaint. */
int tun_open(const char *name);

/* Packets in the order of their arrival. */
struct line;
struct packet {
	uint64_t received_ns;
	size_t bytes;
	uint8_t data[];
};

#define PACKET_BYTES 65536 /* the largest that a TUN device gives */

struct line *line_new(size_t bytes);
void line_free(struct line *line);
/* Where the next packet may be written, with PACKET_BYTES of room; NULL when the line is full. */
struct packet *line_room(struct line *line);
/* Keep the packet that was written there. */
void line_push(struct line *line, struct packet *packet);
/* The oldest, or NULL. */
const struct packet *line_head(const struct line *line);
void line_pop(struct line *line);

/* Carry packets until `stop` (an eventfd) is readable. -1 after a complaint. */
int carry(const struct options *options, int tun, int stop, struct line *line,
	  struct statistics *statistics);

void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
int report_open(const char *stats_path);
void report_ready(const struct options *options);
void report_counters(const struct statistics *statistics);
void report_failed(void);

#endif
