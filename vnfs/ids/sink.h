/* SPDX-License-Identifier: Apache-2.0 */
/* Where the exporting thread sends records: a file, or Kafka. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why records did not arrive. */
enum loss {
	LOSS_RING_FULL, /* the exporting thread was too slow */
	LOSS_QUEUE_FULL, /* the broker was too slow, or away for too long */
	LOSS_NOT_DELIVERED, /* no answer of the broker in time, or it refused */
	LOSS_UNCONFIRMED, /* sent, but not acknowledged in time: the broker may have it */
	LOSS_WRITE, /* the file could not be written */
	LOSSES,
};

extern const char *const loss_names[LOSSES];

/* Counters that whoever notices an event writes, and the main thread reads. */
struct sink_counters {
	_Atomic uint64_t sent; /* acknowledged by the broker, or written */
	_Atomic uint64_t lost[LOSSES];
};

struct sink_settings {
	const char *file; /* "-": stdout; NULL: Kafka */
	const char *brokers, *topic;
};

/* What a sink does with records. The exporting thread makes all calls. A record that is not sent
 * is counted. */
struct sink {
	/* Returns 0, or -1 after complain(). */
	int (*open)(const struct sink_settings *settings, struct sink_counters *counters);
	/* Takes a record and its key (record.h). It may be buffered. */
	void (*send)(const char *key, size_t key_bytes, const char *text, size_t bytes);
	/* Called between records. Returns true if it waits for answers and wants to be called
	 * again soon. */
	bool (*serve)(void);
	/* Sends what is there, for at most so long. What is left is lost. */
	void (*close)(int timeout_ms);
};

extern const struct sink sink_file, sink_kafka;

static inline void sink_count(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}
