// SPDX-License-Identifier: Apache-2.0
/* Runs the threads. The first thread takes the frames of all interfaces. With several threads,
 * it gives each frame to the thread of its flow, by the hash of the 5-tuple that network cards
 * use (Toeplitz, rte_softrss). So each flow is counted by one thread, in one sketch, and
 * thresholds are as exact as with one thread. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_pause.h>
#include <rte_ring.h>

#include "../../dataplane/common/clock.h"
#include "../../dataplane/common/packet_ring.h"
#include "../../dataplane/common/report.h"
#include "distributor.h"
#include "found.h"
#include "live.h"

#define QUEUED 1024 /* most frames that wait for another thread */
#define IDLE_STEPS 64 /* steps without a frame, before a thread waits for one */
#define STEPS_BETWEEN_REPORTS 64 /* steps with frames, between two looks for reports */
#define ANSWER_S 5 /* a thread ends its window within this time */

/* A thread with its engine. */
struct worker {
	pthread_t thread;
	unsigned int number; /* 0: the first thread */
	int cpu; /* -1: anywhere */
	struct engine *engine;
	struct rte_ring *in[PORTS]; /* frames from the first thread, which has none of these */
	int doorbell; /* an eventfd: a write wakes the thread */
	atomic_bool asleep; /* the doorbell must be rung */
	uint64_t put, left; /* frames that the engine got, and that left it */
	struct io io;
	/* The present window. */
	uint32_t window;
	struct finding *findings; /* of the flows in `found`, in the same order */
	struct found found;
	uint64_t lost_reports, monitored, unmonitored; /* the latter two: counters when it began */
	/* The window that ended last, which the main thread reads. */
	struct window ended;
	struct finding *ended_findings;
	unsigned int ticks; /* steps with frames */
} __attribute__((aligned(64)));

static struct worker workers[MAX_THREADS];
static unsigned int worker_count;
static struct interfaces interfaces;
static struct work job;
static const struct engine_type *type; /* of the job */
static atomic_bool stopping;
static atomic_uint window; /* number of the window that all threads are to be in */
static sem_t answers; /* each thread posts it when it has ended a window */

/* --- counting --- */

uint64_t live_counter(enum counter counter)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < worker_count; i++)
		sum += type->counter(workers[i].engine, counter);
	return sum;
}

uint64_t live_io_counter(enum io_counter counter)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < worker_count; i++)
		sum += atomic_load_explicit(&workers[i].io.counters[counter], memory_order_relaxed);
	return sum;
}

uint64_t live_forwarded(unsigned int number)
{
	return type->counter(workers[number].engine, COUNT_FORWARDED);
}

uint64_t live_lost(void)
{
	return interfaces_lost(&interfaces);
}

unsigned int live_threads(void)
{
	return worker_count;
}

/* --- frames --- */

/* Send the frames that leave the engine. Returns whether there were any. */
static bool take_out(struct worker *worker)
{
	struct rte_mbuf *frames[BURST];
	bool any = false;

	for (unsigned int port = 0; port < interfaces.count; port++) {
		unsigned int count;

		while ((count = type->get(worker->engine, port, frames, BURST))) {
			worker->left += count;
			interfaces_send(&interfaces, port, frames, count, &worker->io);
			any = true;
		}
	}
	return any;
}

/* Put frames into the engine and have it work on them, until it has taken all. */
static void put_all(struct worker *worker, unsigned int port, struct rte_mbuf **frames,
		    unsigned int count)
{
	unsigned int put = 0;

	for (;;) {
		put += type->put(worker->engine, port, frames + put, count - put);
		type->work(worker->engine);
		if (put == count)
			break;
		take_out(worker);
	}
	worker->put += count;
}

/* Wake a thread if it sleeps. */
static void ring_doorbell(struct worker *worker)
{
	if (atomic_exchange(&worker->asleep, false) && eventfd_write(worker->doorbell, 1))
		complain("cannot wake a thread: %s", strerror(errno));
}

/* Give frames of other threads' flows to these threads. The first thread's own ones move to the
 * beginning of the burst. Returns how many these are. */
static unsigned int distribute(struct worker *worker, unsigned int port, struct rte_mbuf **frames,
			       unsigned int count)
{
	unsigned int own = 0;
	uint64_t woken = 0;

	for (unsigned int i = 0; i < count; i++) {
		unsigned int number = distributor_thread(frames[i], worker_count);

		if (!number) {
			frames[own++] = frames[i];
		} else if (rte_ring_sp_enqueue(workers[number].in[port], frames[i])) {
			io_discard(&worker->io, frames[i], IO_QUEUE_FULL);
		} else {
			woken |= 1ULL << number;
		}
	}
	for (unsigned int number = 1; woken && number < worker_count; number++)
		if (woken & 1ULL << number)
			ring_doorbell(&workers[number]);
	return own;
}

/* Take a burst of frames: the first thread from the interfaces, another one from its queue. Returns
 * how many are for this thread. */
static unsigned int receive(struct worker *worker, unsigned int port, struct rte_mbuf **frames)
{
	unsigned int count;

	if (worker->number)
		return rte_ring_sc_dequeue_burst(worker->in[port], (void **)frames, BURST, NULL);
	count = interfaces_take(&interfaces, port, frames, &worker->io);
	return worker_count == 1 ? count : distribute(worker, port, frames, count);
}

/* --- findings --- */

/* Keep the reports of the engine as findings of the window, one for each flow. */
static void take_reports(struct worker *worker)
{
	struct report report;

	while (type->report(worker->engine, &report, &worker->lost_reports)) {
		int is_new = found_add(&worker->found, &report.key);

		if (is_new < 0)
			worker->lost_reports++;
		else if (is_new)
			worker->findings[worker->found.count - 1] =
				(struct finding){ .report = report,
						  .found_ns = clock_ns(CLOCK_REALTIME) };
	}
}

/* Return how many packets have belonged to a flow since the start, forwarded or blocked. */
static uint64_t monitored(const struct worker *worker)
{
	return type->counter(worker->engine, COUNT_FORWARDED) -
	       type->counter(worker->engine, COUNT_UNMONITORED) +
	       type->counter(worker->engine, COUNT_BLOCKED);
}

/* End the window of this thread: estimate its findings, hand them over, and begin window `next`. */
static void end_window(struct worker *worker, uint32_t next)
{
	uint64_t all = monitored(worker), none = type->counter(worker->engine, COUNT_UNMONITORED);
	struct finding *spare = worker->ended_findings;

	take_reports(worker);
	/* The sketch has these counts until the engine gets the next epoch. */
	for (unsigned int i = 0; i < worker->found.count; i++)
		worker->findings[i].packets =
			sketch_estimate(&job, worker->engine, &worker->findings[i].report.key);
	worker->ended = (struct window){
		.findings = worker->findings,
		.count = worker->found.count,
		.monitored = all - worker->monitored,
		.unmonitored = none - worker->unmonitored,
		.lost = worker->lost_reports,
	};
	worker->ended_findings = worker->findings;
	worker->findings = spare;
	found_clear(&worker->found);
	worker->lost_reports = 0;
	worker->monitored = all;
	worker->unmonitored = none;
	worker->window = next;
	type->set_epoch(worker->engine, next);
	sem_post(&answers);
}

bool live_end_window(void (*take)(const struct window *window, void *context), void *context)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ANSWER_S;
	atomic_fetch_add(&window, 1);
	for (unsigned int i = 0; i < worker_count; i++)
		ring_doorbell(&workers[i]);
	for (unsigned int i = 0; i < worker_count; i++) {
		while (sem_clockwait(&answers, CLOCK_MONOTONIC, &until)) {
			if (errno != EINTR)
				return false;
		}
	}
	for (unsigned int i = 0; i < worker_count; i++)
		take(&workers[i].ended, context);
	return true;
}

/* --- threads --- */

/* Do what there is to do: end the window, take a burst from each port (unless `takes` is false),
 * work, and send. Returns whether there were frames. */
static bool step(struct worker *worker, bool takes)
{
	uint32_t now = atomic_load_explicit(&window, memory_order_acquire);
	struct rte_mbuf *frames[BURST];
	bool any = false;

	if (now != worker->window)
		end_window(worker, now);
	for (unsigned int port = 0; port < interfaces.count && takes; port++) {
		unsigned int count = receive(worker, port, frames);

		if (count)
			put_all(worker, port, frames, count);
		any |= count > 0;
	}
	if (!any) /* the engine may still have frames */
		type->work(worker->engine);
	any |= take_out(worker);
	if (!any || ++worker->ticks % STEPS_BETWEEN_REPORTS == 0)
		take_reports(worker);
	return any;
}

/* Have all frames left the engine that were put into it? */
static bool engine_is_empty(const struct worker *worker)
{
	uint64_t done = worker->left;

	for (enum counter reason = COUNT_FIRST_DROPPED; reason < COUNTS; reason++)
		done += type->counter(worker->engine, reason);
	return done == worker->put;
}

/* Do frames wait in this thread's queues? The first thread has none. */
static bool has_frames(const struct worker *worker)
{
	for (unsigned int port = 0; worker->number && port < interfaces.count; port++)
		if (!rte_ring_empty(worker->in[port]))
			return true;
	return false;
}

/* Sleep until there is something to do. Frames at an interface wake the first thread. */
static void wait_for_frames(struct worker *worker)
{
	struct pollfd events[1 + PORTS] = { { .fd = worker->doorbell, .events = POLLIN } };
	unsigned int count = 1;
	eventfd_t rung;

	for (unsigned int port = 0; !worker->number && port < interfaces.count; port++) {
		events[count++] =
			(struct pollfd){ .fd = interfaces.devices[port].socket, .events = POLLIN };
	}
	atomic_store(&worker->asleep, true);
	/* Whoever rings from here on wakes the thread; what came before is seen now. */
	if (!has_frames(worker) && atomic_load(&window) == worker->window &&
	    !atomic_load(&stopping))
		poll(events, count, -1);
	atomic_store(&worker->asleep, false);
	if (events[0].revents & POLLIN && eventfd_read(worker->doorbell, &rung))
		complain("cannot read an event: %s", strerror(errno));
	for (unsigned int i = 1; i < count; i++)
		if (events[i].revents & POLLERR)
			packet_forget_error(events[i].fd);
}

/* The thread of a worker. At the end it sends the frames that were taken. */
static void *work_loop(void *argument)
{
	struct worker *worker = argument;
	unsigned int idle = 0;

	rte_thread_register();
	while (!atomic_load_explicit(&stopping, memory_order_relaxed)) {
		idle = step(worker, true) ? 0 : idle + 1;
		if (idle < IDLE_STEPS || !engine_is_empty(worker))
			continue;
		wait_for_frames(worker);
		idle = 0;
	}
	while (worker->number && has_frames(worker))
		step(worker, true);
	while (!engine_is_empty(worker))
		step(worker, false);
	rte_thread_unregister();
	return NULL;
}

/* --- setting up --- */

/* Make the queue to a thread for frames that came in at a port. Returns NULL after complain(). */
static struct rte_ring *open_queue(unsigned int number, unsigned int port)
{
	char name[32];
	struct rte_ring *ring;

	snprintf(name, sizeof(name), "to-%u-%u", number, port);
	ring = rte_ring_create(name, QUEUED, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	if (!ring)
		complain("no memory for a queue of %u frames", QUEUED);
	return ring;
}

/* Make all that a worker needs but its thread. Returns 0, or -1 after complain(). */
static int open_worker(struct worker *worker)
{
	worker->window = (uint32_t)job.first_epoch;
	worker->doorbell = eventfd(0, EFD_CLOEXEC);
	worker->findings = calloc(MOST_FOUND, sizeof(*worker->findings));
	worker->ended_findings = calloc(MOST_FOUND, sizeof(*worker->ended_findings));
	if (worker->doorbell < 0 || !worker->findings || !worker->ended_findings) {
		complain("no memory for a thread");
		return -1;
	}
	if (found_open(&worker->found))
		return -1;
	for (unsigned int port = 0; worker->number && port < interfaces.count; port++)
		if (!(worker->in[port] = open_queue(worker->number, port)))
			return -1;
	worker->engine = type->create(&job.settings, worker->number);
	if (!worker->engine)
		return -1;
	type->set_epoch(worker->engine, worker->window);
	return 0;
}

int live_start(const struct work *work, const struct live *live)
{
	job = *work;
	type = job.type;
	worker_count = live->cpus.count ? live->cpus.count : 1;
	window = (uint32_t)job.first_epoch;
	sem_init(&answers, 0, 0);
	if (interfaces_open(&interfaces, live, worker_count * PORTS * QUEUED))
		return -1;
	job.settings.ports = interfaces.count;
	if (!interfaces.plain) { /* a function on an SFF */
		job.settings.nsh_only = true;
		job.settings.reflect = true;
		job.settings.mac = interfaces_mac(&interfaces);
	}
	for (unsigned int i = 0; i < worker_count; i++) {
		workers[i].number = i;
		workers[i].cpu = live->cpus.count ? live->cpus.cpus[i] : -1;
		if (open_worker(&workers[i]))
			return -1;
	}
	for (unsigned int i = 0; i < worker_count; i++)
		if (cpus_start_thread(&workers[i].thread, workers[i].cpu, work_loop, &workers[i]))
			return -1;
	return 0;
}

void live_stop(void)
{
	atomic_store(&stopping, true);
	/* The first thread gives frames to the others, so it ends before them. */
	for (unsigned int i = 0; i < worker_count; i++) {
		ring_doorbell(&workers[i]);
		pthread_join(workers[i].thread, NULL);
	}
	interfaces_close(&interfaces);
}
