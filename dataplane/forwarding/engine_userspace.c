// SPDX-License-Identifier: Apache-2.0
/*
 * Engine `userspace`: N threads, each pinned to a CPU with a packet socket of its own.
 *
 * Frames come by a memory-mapped ring and leave by sendmmsg() right out of it. fanout.bpf.c spreads
 * flows over the threads.
 */
#include <errno.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "../common/counter.h"
#include "../common/cpus.h"
#include "../common/libbpf_log.h"
#include "../common/packet_ring.h"
#include "../common/report.h"
#include "../common/vxlan_gpe_port.h"
#include "engine.h"
#include "fanout.skel.h"
#include "packet.h"

#define BATCH 64

/* A thread that forwards, and what it has counted. It writes the counters and the main thread
 * reads them: relaxed atomics, no lock on the way. */
struct worker {
	pthread_t thread;
	int cpu; /* -1: not pinned */
	int ticks; /* see inspector_ticks(); -1 without an inspector */
	struct packet_ring ring;
	const __u8 *own_mac;

	/* Frames that wait to be sent, `pending` of them: as sendmmsg() takes them, where they are
	 * in the ring, and their paths. */
	struct mmsghdr messages[BATCH];
	struct iovec buffers[BATCH];
	struct tpacket2_hdr *frames[BATCH];
	fwd_path frame_paths[BATCH];
	unsigned int pending;

	_Atomic __u64 verdicts[FWD_VERDICTS];
	_Atomic __u64 paths_untracked;
	_Atomic unsigned int path_count; /* so many of `paths` are there, and do not change */
	fwd_path paths[FWD_MAX_PATHS];
	_Atomic __u64 path_packets[FWD_MAX_PATHS];
} __attribute__((aligned(64)));

static struct worker workers[MAX_THREADS];
static unsigned int worker_count;
static struct interface own; /* the interface where frames come and leave */
static int stop_event = -1; /* wakes workers without an inspector when it is time to stop */
static atomic_bool stopping;
static const struct inspector *inspector; /* NULL: none */

/* --- counting --- */

/* Count a forwarded packet for its path. */
static void count_path(struct worker *worker, fwd_path path)
{
	unsigned int count = atomic_load_explicit(&worker->path_count, memory_order_relaxed);
	unsigned int i = 0;

	/* A chain has few paths, so to scan a short array is faster than to hash. */
	while (i < count && worker->paths[i] != path)
		i++;
	if (i == FWD_MAX_PATHS) {
		counter_add(&worker->paths_untracked, 1);
		return;
	}
	if (i == count) {
		worker->paths[i] = path;
		atomic_store_explicit(&worker->path_count, count + 1, memory_order_release);
	}
	counter_add(&worker->path_packets[i], 1);
}

/* --- forwarding frames --- */

/* Send the waiting frames, and give them back to the ring. */
static void flush(struct worker *worker)
{
	unsigned int next = 0;

	while (next < worker->pending) {
		int accepted = sendmmsg(worker->ring.socket, worker->messages + next,
					worker->pending - next, 0);

		if (accepted > 0) {
			counter_add(&worker->verdicts[FWD_FORWARDED], (__u64)accepted);
			while (accepted-- > 0)
				count_path(worker, worker->frame_paths[next++]);
		} else if (errno != EINTR) {
			counter_add(&worker->verdicts[FWD_TX_FAILED], 1);
			next++;
		}
	}
	for (unsigned int i = 0; i < worker->pending; i++)
		packet_ring_give_back(worker->frames[i]);
	worker->pending = 0;
}

/* Let a frame wait to be sent, with others. `data` is its Ethernet header. */
static void enqueue(struct worker *worker, struct tpacket2_hdr *frame, __u8 *data, fwd_path path)
{
	unsigned int i = worker->pending++;

	worker->frames[i] = frame;
	worker->frame_paths[i] = path;
	worker->buffers[i] = (struct iovec){ .iov_base = data, .iov_len = frame->tp_len };
	if (worker->pending == BATCH)
		flush(worker);
}

/* Decide on a frame: it waits to be sent, or goes back to the ring. The kernel has its own copy of
 * one that is left to it. */
static void handle(struct worker *worker, struct tpacket2_hdr *frame)
{
	__u8 *data = (__u8 *)frame + frame->tp_mac;
	enum fwd_verdict verdict;
	fwd_path path = 0;

	/* Then the kernel has taken a VLAN tag off: the frame is not for the forwarder. */
	if (frame->tp_status & TP_STATUS_VLAN_VALID)
		verdict = FWD_PASSED;
	else
		verdict = fwd_frame(data, data + frame->tp_snaplen, worker->own_mac, &path);
	/* The ring has room for frames as large as the MTU allows. */
	if (verdict != FWD_PASSED && frame->tp_len > frame->tp_snaplen)
		verdict = FWD_OVERSIZE;
	if (verdict != FWD_FORWARDED) {
		counter_add(&worker->verdicts[verdict], 1);
		packet_ring_give_back(frame);
		return;
	}
	if (inspector)
		inspector->frame((unsigned int)(worker - workers), data, frame->tp_snaplen,
				 frame->tp_sec * 1000000000ULL + frame->tp_nsec);
	enqueue(worker, frame, data, path);
}

/* Handle frames until the ring is empty, or the engine stops. */
static void take_all(struct worker *worker)
{
	struct tpacket2_hdr *frame;
	unsigned int taken = 0;

	/* As long as frames follow closely, the ring never gets empty: hence `stopping`, and the
	 * inspector's turns. */
	while (!atomic_load_explicit(&stopping, memory_order_relaxed) &&
	       (frame = packet_ring_next(&worker->ring))) {
		handle(worker, frame);
		if (++taken % BATCH == 0 && inspector)
			inspector->rest((unsigned int)(worker - workers), false);
	}
}

/* Forward what arrived before the end, and nothing that arrives from now on. */
static void take_rest(struct worker *worker)
{
	struct tpacket2_hdr *frame;
	unsigned int most = worker->ring.frame_count;

	packet_drop_everything(worker->ring.socket, own.name);
	while (most-- && (frame = packet_ring_next(&worker->ring)))
		handle(worker, frame);
	flush(worker);
}

/* Count the frames that found the ring full since the last reading. */
static void read_ring_drops(struct worker *worker)
{
	counter_add(&worker->verdicts[FWD_RING_FULL], packet_drops(worker->ring.socket));
}

/* The thread of a worker. */
static void *work(void *argument)
{
	struct worker *worker = argument;
	unsigned int number = (unsigned int)(worker - workers);
	struct pollfd events[] = {
		{ .fd = worker->ring.socket, .events = POLLIN },
		/* Each descriptor costs. A thread that ticks need not be told that it is time to
		 * stop: it looks at each tick. */
		{ .fd = inspector ? worker->ticks : stop_event, .events = POLLIN },
	};
	bool more = false; /* the inspector asked for another call */

	while (!atomic_load_explicit(&stopping, memory_order_relaxed)) {
		take_all(worker);
		flush(worker);
		if (inspector) {
			bool ticked = events[1].revents && inspector_ticked(worker->ticks);

			more = inspector->rest(number, ticked || more);
		}
		poll(events, 2, more ? 0 : -1);
		if (events[0].revents & POLLERR)
			packet_forget_error(worker->ring.socket);
	}
	take_rest(worker);
	read_ring_drops(worker);
	/* Each thread closes its own socket, because the kernel takes long to close a packet
	 * socket. */
	packet_ring_close(&worker->ring);
	if (inspector)
		inspector->end(number);
	return NULL;
}

/* --- setting up --- */

void engine_userspace_inspect(const struct inspector *chosen)
{
	inspector = chosen;
}

/* Open a worker's socket. It receives nothing yet: between bind() and the fanout it would get
 * every frame. Returns 0, or -1 after complain(). */
static int open_socket(struct worker *worker)
{
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = own.index,
	};

	const unsigned int frames = inspector ? PACKET_RING_FRAMES_OBSERVED : PACKET_RING_FRAMES;

	if (packet_ring_open(&worker->ring, frames, ETH_HLEN + own.mtu, own.name))
		return -1;
	if (bind(worker->ring.socket, (struct sockaddr *)&address, sizeof(address))) {
		complain("cannot bind to %s: %s", own.name, strerror(errno));
		return -1;
	}
	for (unsigned int i = 0; i < BATCH; i++)
		worker->messages[i].msg_hdr = (struct msghdr){
			.msg_iov = &worker->buffers[i],
			.msg_iovlen = 1,
		};
	return 0;
}

/* Join the sockets in a fanout group. Returns 0, or -1 after complain(). */
static int join_fanout(void)
{
	struct fanout_bpf *skeleton = fanout_bpf__open();
	int program, group, status = -1;

	if (skeleton)
		skeleton->rodata->both_directions = inspector != NULL;
	if (!skeleton || fanout_bpf__load(skeleton)) {
		libbpf_complain_of_load("the fanout program", errno);
		goto cleanup;
	}
	/* The kernel picks the group's number for the first socket; the others name it. */
	group = (PACKET_FANOUT_EBPF | PACKET_FANOUT_FLAG_UNIQUEID) << 16;
	for (unsigned int i = 0; i < worker_count; i++) {
		int fd = workers[i].ring.socket;

		if (packet_option(fd, SOL_PACKET, PACKET_FANOUT, &group, sizeof(group), own.name))
			goto cleanup;
		if (i == 0) {
			socklen_t bytes = sizeof(group);

			getsockopt(fd, SOL_PACKET, PACKET_FANOUT, &group, &bytes);
			group &= ~(PACKET_FANOUT_FLAG_UNIQUEID << 16);
		}
	}
	program = bpf_program__fd(skeleton->progs.fanout);
	status = packet_option(workers[0].ring.socket, SOL_PACKET, PACKET_FANOUT_DATA, &program,
			       sizeof(program), own.name);
cleanup:
	fanout_bpf__destroy(skeleton); /* the group keeps the program */
	return status;
}

static int start(const struct interface *interface, const struct cpu_list *cpus)
{
	const int unused = 0;

	own = *interface;
	worker_count = cpus->count ? cpus->count : 1;
	stop_event = eventfd(0, EFD_CLOEXEC);
	if (stop_event < 0) {
		complain("cannot make an event: %s", strerror(errno));
		return -1;
	}
	if (vxlan_gpe_port_open(own.name))
		return -1;
	for (unsigned int i = 0; i < worker_count; i++) {
		workers[i].cpu = cpus->count ? cpus->cpus[i] : -1;
		workers[i].own_mac = own.mac;
		workers[i].ticks = inspector ? inspector_ticks() : -1;
		if ((inspector && workers[i].ticks < 0) || open_socket(&workers[i]))
			return -1;
	}
	if (worker_count > 1 && join_fanout())
		return -1;
	/* From here on frames may come: packet_ring_open() let the sockets receive nothing. */
	for (unsigned int i = 0; i < worker_count; i++)
		if (cpus_start_thread(&workers[i].thread, workers[i].cpu, work, &workers[i]) ||
		    packet_option(workers[i].ring.socket, SOL_SOCKET, SO_DETACH_FILTER, &unused,
				  sizeof(unused), own.name))
			return -1;
	return 0;
}

/* --- reading --- */

/* Add a worker's counts of paths to those of the others. */
static void merge_paths(struct snapshot *snapshot, struct worker *worker)
{
	unsigned int count = atomic_load_explicit(&worker->path_count, memory_order_acquire);

	for (unsigned int i = 0; i < count; i++) {
		__u64 packets =
			atomic_load_explicit(&worker->path_packets[i], memory_order_relaxed);
		unsigned int j = 0;

		while (j < snapshot->path_count && snapshot->paths[j].path != worker->paths[i])
			j++;
		if (j == FWD_MAX_PATHS) {
			snapshot->totals.paths_untracked += packets;
			continue;
		}
		if (j == snapshot->path_count) {
			snapshot->paths[j].path = worker->paths[i];
			snapshot->path_count++;
		}
		snapshot->paths[j].packets += packets;
	}
}

static void read_counters(struct snapshot *snapshot)
{
	memset(snapshot, 0, sizeof(*snapshot));
	snapshot->worker_count = worker_count;
	for (unsigned int i = 0; i < worker_count; i++) {
		struct worker *worker = &workers[i];

		read_ring_drops(worker);
		for (int verdict = 0; verdict < FWD_VERDICTS; verdict++)
			snapshot->totals.verdicts[verdict] += atomic_load_explicit(
				&worker->verdicts[verdict], memory_order_relaxed);
		snapshot->workers[i] = atomic_load_explicit(&worker->verdicts[FWD_FORWARDED],
							    memory_order_relaxed);
		snapshot->totals.paths_untracked +=
			atomic_load_explicit(&worker->paths_untracked, memory_order_relaxed);
		merge_paths(snapshot, worker);
	}
}

static void stop(void)
{
	atomic_store(&stopping, true);
	if (eventfd_write(stop_event, 1))
		return;
	for (unsigned int i = 0; i < worker_count; i++)
		pthread_join(workers[i].thread, NULL);
}

const struct engine engine_userspace = {
	.name = "userspace",
	.start = start,
	.read = read_counters,
	.stop = stop,
};
