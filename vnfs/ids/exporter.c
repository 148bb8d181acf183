// SPDX-License-Identifier: Apache-2.0
/* The exporting thread, and how workers hand records to it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "../../dataplane/common/cpus.h"
#include "../../dataplane/common/report.h"
#include "exporter.h"
#include "record.h"
#include "ring.h"

#define BURST 256 /* records of a worker that are sent before the next look at the sink */
/* While records come, the thread looks for them by itself: to wake it for each record would cost
 * a worker more than the extraction. When none came for a while, it sleeps until it is woken. */
#define LOOK_MS 2
#define LOOKS 50
#define SLEEP_MS 500
/* Together these are less than the 2 s that a host gives to a process that is to end. */
#define FINISH_MS 500
#define CLOSE_MS 700

/* The way from a worker to the exporting thread. */
struct lane {
	struct ring ring;
	bool finishing; /* the worker may wait for room */
	int waited_ms; /* in all */
};

static struct lane lanes[MAX_THREADS];
static unsigned int lane_count;
static struct exporter_settings settings;
static struct record_head head;
static const struct sink *sink;
static struct sink_counters counters;
static _Atomic uint64_t made;
static _Atomic bool asleep, stopping;
static pthread_t thread;
static int wake_event = -1;
static int started_event = -1; /* 1: the thread works; 2: it does not */

/* --- the workers' side --- */

/* Put a record into the ring of a worker. If the ring is full, the record is lost and counted;
 * before, a worker that is finishing waits, for FINISH_MS in all. */
static void put(void *context, const struct record *record)
{
	uint64_t sequence = atomic_fetch_add_explicit(&made, 1, memory_order_relaxed);
	struct lane *lane = context;

	while (!ring_put(&lane->ring, record, sequence)) {
		if (!lane->finishing || lane->waited_ms++ >= FINISH_MS) {
			sink_count(&counters.lost[LOSS_RING_FULL]);
			return;
		}
		exporter_wake((unsigned int)(lane - lanes));
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
}

/* Is there room for records that can also come later? They leave half of the ring to those that
 * cannot. */
static bool has_room(void *context)
{
	const struct lane *lane = context;

	return ring_room(&lane->ring) > RING_RECORDS / 2;
}

struct outlet exporter_outlet(unsigned int worker)
{
	return (struct outlet){ .context = &lanes[worker], .put = put, .has_room = has_room };
}

void exporter_finishing(unsigned int worker)
{
	lanes[worker].finishing = true;
}

void exporter_wake(unsigned int worker)
{
	if (!ring_oldest(&lanes[worker].ring))
		return;
	/* Either this thread sees that the other one sleeps, or that one sees the record. */
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&asleep, memory_order_relaxed) && atomic_exchange(&asleep, false))
		eventfd_write(wake_event, 1);
}

/* --- the exporting thread --- */

/* Send some records of a worker. Returns how many. */
static unsigned int export_some(struct lane *lane)
{
	char text[RECORD_TEXT_BYTES], key[RECORD_KEY_BYTES];
	unsigned int count = 0;
	const struct queued *queued;

	while (count < BURST && (queued = ring_oldest(&lane->ring))) {
		size_t bytes = record_text(&head, &queued->record, queued->sequence, text);

		sink->send(key, record_key(&queued->record, key), text, bytes);
		ring_drop(&lane->ring);
		count++;
	}
	return count;
}

/* Send some records of each worker. Returns how many. */
static unsigned int export_all(void)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < lane_count; i++)
		count += export_some(&lanes[i]);
	return count;
}

static bool nothing_waits(void)
{
	for (unsigned int i = 0; i < lane_count; i++)
		if (ring_oldest(&lanes[i].ring))
			return false;
	return true;
}

/* Wait for records: for a short time while records or answers come, else until woken. */
static void wait_for_records(bool answers_wait, unsigned int looks)
{
	struct pollfd event = { .fd = wake_event, .events = POLLIN };
	eventfd_t ignored;

	if (looks < LOOKS || answers_wait) {
		poll(&event, 1, LOOK_MS);
	} else {
		atomic_store_explicit(&asleep, true, memory_order_relaxed);
		atomic_thread_fence(memory_order_seq_cst);
		if (nothing_waits() && !stopping)
			poll(&event, 1, SLEEP_MS);
		atomic_store_explicit(&asleep, false, memory_order_relaxed);
	}
	if (event.revents & POLLIN)
		eventfd_read(wake_event, &ignored);
}

/* Enter the network namespace from which brokers are reached, if one is given. Returns 0, or -1
 * after complain(). */
static int enter_management_netns(void)
{
	const char *path = settings.management_netns;
	int fd, status;

	if (!path)
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	status = fd < 0 ? -1 : setns(fd, CLONE_NEWNET);
	if (status)
		complain("cannot enter the network namespace %s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return status;
}

/* The exporting thread. At the end it sends what is in the rings. */
static void *export(void *unused)
{
	/* librdkafka's threads are started from this one, so they are in the same namespace. */
	bool works = enter_management_netns() == 0 && sink->open(&settings.sink, &counters) == 0;

	(void)unused;
	eventfd_write(started_event, works ? 1 : 2);
	if (!works)
		return NULL;
	for (unsigned int looks = 0;; looks++) { /* looks since there were records */
		bool end = stopping; /* before the look, so that it sees all records */
		unsigned int count = export_all();
		bool answers_wait = sink->serve();

		if (count)
			looks = 0;
		else if (end)
			break;
		if (count < BURST) /* else more may be there */
			wait_for_records(answers_wait, looks);
	}
	sink->close(CLOSE_MS);
	return NULL;
}

/* --- from outside --- */

int exporter_start(const struct exporter_settings *wanted, unsigned int workers)
{
	eventfd_t started = 0;
	int error;

	settings = *wanted;
	lane_count = workers;
	sink = settings.sink.file ? &sink_file : &sink_kafka;
	wake_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	started_event = eventfd(0, EFD_CLOEXEC);
	if (!record_head(&head, settings.source, settings.run)) {
		complain("--source and --run: at most %d characters", RECORD_NAME_BYTES - 3);
		return -1;
	}
	for (unsigned int i = 0; i < workers; i++)
		if (!ring_open(&lanes[i].ring)) {
			complain("not enough memory for the records of %u threads", workers);
			return -1;
		}
	error = pthread_create(&thread, NULL, export, NULL);
	if (error || wake_event < 0 || started_event < 0) {
		complain("cannot start a thread: %s", strerror(error ? error : errno));
		return -1;
	}
	pthread_setname_np(thread, EXPORTER_NAME);
	eventfd_read(started_event, &started); /* waits for the thread */
	return started == 1 ? 0 : -1;
}

void exporter_stop(void)
{
	stopping = true;
	eventfd_write(wake_event, 1);
	pthread_join(thread, NULL);
}

void exporter_print(FILE *out)
{
	/* Counters at the end of a record's way are read first, so that no record seems to be
	 * made of nothing. */
	uint64_t sent = counters.sent, lost[LOSSES];

	for (int i = 0; i < LOSSES; i++)
		lost[i] = counters.lost[i];
	fprintf(out, "\"records_made\": %lu, \"records_sent\": %lu, \"records_lost\": {", made,
		sent);
	for (int i = 0; i < LOSSES; i++)
		fprintf(out, "%s\"%s\": %lu", i ? ", " : "", loss_names[i], lost[i]);
	fprintf(out, "}");
}
