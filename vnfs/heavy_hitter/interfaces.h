/* SPDX-License-Identifier: Apache-2.0 */
/* The interfaces between which frames go: they take what is for the engines, and send what
 * leaves. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "devices.h"
#include "engine.h"
#include "plain.h"

struct live;

/* Why a frame did not come to an engine, or was not sent. */
enum io_counter {
	IO_PASSED, /* plain IP: not to be forwarded */
	IO_OVERSIZE, /* longer than the MTU: packets were merged, or fragments put together */
	IO_TTL_EXCEEDED,
	IO_QUEUE_FULL, /* the queue to another thread is full */
	IO_TX_FAILED,
	IO_COUNTERS,
};

/* A thread's counters of frames that were not sent. The thread writes them; others may read
 * them. */
struct io {
	_Atomic uint64_t counters[IO_COUNTERS];
};

struct interfaces {
	unsigned int count; /* 1 or 2 */
	bool plain; /* a hop in plain IP, between two interfaces */
	struct device devices[PORTS];
	pthread_mutex_t sending[PORTS]; /* a port of DPDK has one sender at a time */
	struct plain_end ends[PORTS];
	unsigned int longest[PORTS]; /* most bytes of a frame without FCS, by the MTU */
};

/* Count a frame by the reason, and free it. */
void io_discard(struct io *io, struct rte_mbuf *frame, enum io_counter reason);

/* Open the interfaces, with room for so many frames that wait for threads. Returns 0, or -1
 * after complain(). */
int interfaces_open(struct interfaces *interfaces, const struct live *live, unsigned int waiting);

/* Take up to BURST frames that came in, count and free those that are not for the engines, and give
 * the others. Returns how many these are. Only one thread may call this. */
unsigned int interfaces_take(struct interfaces *interfaces, unsigned int port,
			     struct rte_mbuf **frames, struct io *io);

/* Send frames by a port. Those that cannot be sent are counted and freed. Any thread may call
 * this. */
void interfaces_send(struct interfaces *interfaces, unsigned int port, struct rte_mbuf **frames,
		     unsigned int count, struct io *io);

/* Return how many frames came faster than they were taken, since the interfaces were opened. */
uint64_t interfaces_lost(struct interfaces *interfaces);

/* Return the MAC address of the first interface as a number. */
uint64_t interfaces_mac(const struct interfaces *interfaces);

void interfaces_close(struct interfaces *interfaces);
