// SPDX-License-Identifier: Apache-2.0
/*
 * Engine `userspace`: N threads, each pinned to a CPU with a packet socket of its own.
 *
 * Frames come by a memory-mapped ring (TPACKET_V2: a frame is handed over at once, where V3 waits
 * for a block) and leave by sendmmsg() right out of the ring. fanout.bpf.c spreads flows over the
 * threads.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "../common/libbpf_log.h"
#include "../common/report.h"
#include "engine.h"
#include "fanout.skel.h"
#include "packet.h"

#define RING_FRAMES 2048
#define RING_BLOCK_BYTES (64 * 1024)
#define BATCH 64

/* Written by one thread, read by the main one: relaxed atomics, no lock on the way. */
struct worker {
	pthread_t thread;
	int cpu; /* -1: not pinned */
	int socket;
	__u8 *ring;
	unsigned int frame_bytes;
	unsigned int head;
	const __u8 *own_mac;

	struct mmsghdr messages[BATCH];
	struct iovec buffers[BATCH];
	struct tpacket2_hdr *frames[BATCH];
	fwd_path frame_paths[BATCH];
	unsigned int pending;

	_Atomic __u64 verdicts[FWD_VERDICTS];
	_Atomic __u64 paths_untracked;
	_Atomic unsigned int path_count;
	fwd_path paths[FWD_MAX_PATHS];
	_Atomic __u64 path_packets[FWD_MAX_PATHS];
} __attribute__((aligned(64)));

static struct worker workers[MAX_THREADS];
static unsigned int worker_count;
static struct interface own;
static int stop_event = -1;

/* --- counting --- */

static void add(_Atomic __u64 *counter, __u64 amount)
{
	/* One writer: a load and a store, without the price of a locked addition. */
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + amount,
			      memory_order_relaxed);
}

static void count_path(struct worker *worker, fwd_path path)
{
	unsigned int count = atomic_load_explicit(&worker->path_count, memory_order_relaxed);
	unsigned int i = 0;

	/* A chain has few paths: a scan of a short array beats a hash. */
	while (i < count && worker->paths[i] != path)
		i++;
	if (i == FWD_MAX_PATHS) {
		add(&worker->paths_untracked, 1);
		return;
	}
	if (i == count) {
		worker->paths[i] = path;
		atomic_store_explicit(&worker->path_count, count + 1, memory_order_release);
	}
	add(&worker->path_packets[i], 1);
}

/* --- forwarding frames --- */

static void give_back(struct tpacket2_hdr *frame)
{
	__atomic_store_n(&frame->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
}

static void flush(struct worker *worker)
{
	unsigned int sent = 0;

	while (sent < worker->pending) {
		int accepted = sendmmsg(worker->socket, worker->messages + sent,
					worker->pending - sent, 0);

		if (accepted > 0) {
			add(&worker->verdicts[FWD_FORWARDED], (__u64)accepted);
			while (accepted-- > 0)
				count_path(worker, worker->frame_paths[sent++]);
		} else if (errno != EINTR) {
			add(&worker->verdicts[FWD_TX_FAILED], 1);
			sent++;
		}
	}
	for (unsigned int i = 0; i < worker->pending; i++)
		give_back(worker->frames[i]);
	worker->pending = 0;
}

static void enqueue(struct worker *worker, struct tpacket2_hdr *frame, __u8 *data, fwd_path path)
{
	unsigned int i = worker->pending++;

	worker->frames[i] = frame;
	worker->frame_paths[i] = path;
	worker->buffers[i] = (struct iovec){ .iov_base = data, .iov_len = frame->tp_len };
	if (worker->pending == BATCH)
		flush(worker);
}

static void handle(struct worker *worker, struct tpacket2_hdr *frame)
{
	__u8 *data = (__u8 *)frame + frame->tp_mac;
	enum fwd_verdict verdict;
	fwd_path path = 0;

	if (frame->tp_status & TP_STATUS_VLAN_VALID)
		verdict = FWD_PASSED;
	else
		verdict = fwd_frame(data, data + frame->tp_snaplen, worker->own_mac, &path);
	if (verdict != FWD_PASSED && frame->tp_len > frame->tp_snaplen)
		verdict = FWD_OVERSIZE;
	if (verdict != FWD_FORWARDED) {
		add(&worker->verdicts[verdict], 1);
		give_back(frame);
		return;
	}
	enqueue(worker, frame, data, path);
}

static void take_all(struct worker *worker)
{
	for (;;) {
		struct tpacket2_hdr *frame =
			(void *)(worker->ring + (size_t)worker->head * worker->frame_bytes);

		if (!(__atomic_load_n(&frame->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER))
			return;
		handle(worker, frame);
		worker->head = (worker->head + 1) % RING_FRAMES;
	}
}

static void read_ring_drops(struct worker *worker)
{
	struct tpacket_stats statistics;
	socklen_t bytes = sizeof(statistics);

	/* The kernel counts from the last reading on. A closed socket has been read. */
	if (getsockopt(worker->socket, SOL_PACKET, PACKET_STATISTICS, &statistics, &bytes) == 0)
		add(&worker->verdicts[FWD_RING_FULL], statistics.tp_drops);
}

/* Each thread closes its own: the kernel takes long to close a packet socket. */
static void close_socket(struct worker *worker)
{
	read_ring_drops(worker);
	munmap(worker->ring, (size_t)worker->frame_bytes * RING_FRAMES);
	close(worker->socket);
	worker->socket = -1;
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	struct pollfd events[] = {
		{ .fd = worker->socket, .events = POLLIN },
		{ .fd = stop_event, .events = POLLIN },
	};

	while (!(events[1].revents & POLLIN)) {
		int ignored;

		take_all(worker);
		flush(worker);
		poll(events, 2, -1);
		/* An interface that goes down leaves an error that must be fetched; it may return.
		 * */
		if (events[0].revents & POLLERR)
			getsockopt(worker->socket, SOL_SOCKET, SO_ERROR, &ignored,
				   &(socklen_t){ sizeof(ignored) });
	}
	close_socket(worker);
	return NULL;
}

/* --- setting up --- */

static int set_option(int fd, int level, int option, const void *value, socklen_t bytes)
{
	if (setsockopt(fd, level, option, value, bytes) == 0)
		return 0;
	complain("socket option %d of %s: %s", option, own.name, strerror(errno));
	return -1;
}

static int drop_everything(int fd)
{
	struct sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog program = { .len = 1, .filter = &drop };

	return set_option(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

static unsigned int frame_bytes_for(unsigned int mtu)
{
	unsigned int wanted =
		TPACKET_ALIGN(TPACKET2_HDRLEN) + 2 * TPACKET_ALIGNMENT + ETH_HLEN + mtu;
	unsigned int bytes = 2048;

	while (bytes < wanted)
		bytes *= 2;
	return bytes;
}

static int map_ring(struct worker *worker)
{
	const int version = TPACKET_V2;
	unsigned int block = RING_BLOCK_BYTES;
	struct tpacket_req request;
	size_t bytes;

	worker->frame_bytes = frame_bytes_for(own.mtu);
	if (block < worker->frame_bytes)
		block = worker->frame_bytes;
	bytes = (size_t)worker->frame_bytes * RING_FRAMES;
	request = (struct tpacket_req){
		.tp_block_size = block,
		.tp_block_nr = (unsigned int)(bytes / block),
		.tp_frame_size = worker->frame_bytes,
		.tp_frame_nr = RING_FRAMES,
	};
	if (set_option(worker->socket, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) ||
	    set_option(worker->socket, SOL_PACKET, PACKET_RX_RING, &request, sizeof(request)))
		return -1;
	worker->ring = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, worker->socket, 0);
	if (worker->ring == MAP_FAILED) {
		complain("cannot map the receive ring: %s", strerror(errno));
		return -1;
	}
	return 0;
}

/* A socket that receives nothing yet: between bind() and the fanout it would get every frame. */
static int open_socket(struct worker *worker)
{
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = own.index,
	};
	const int yes = 1;

	worker->socket = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (worker->socket < 0) {
		complain("cannot open a packet socket: %s", strerror(errno));
		return -1;
	}
	if (drop_everything(worker->socket) ||
	    set_option(worker->socket, SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof(yes)) ||
	    map_ring(worker))
		return -1;
	if (bind(worker->socket, (struct sockaddr *)&address, sizeof(address))) {
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

/* Join the sockets in a fanout group of a number that the kernel picks. */
static int join_fanout(void)
{
	struct fanout_bpf *skeleton = fanout_bpf__open_and_load();
	int program, group, status = -1;

	if (!skeleton) {
		libbpf_complain_of_load("the fanout program", errno);
		return -1;
	}
	group = (PACKET_FANOUT_EBPF | PACKET_FANOUT_FLAG_UNIQUEID) << 16;
	for (unsigned int i = 0; i < worker_count; i++) {
		if (set_option(workers[i].socket, SOL_PACKET, PACKET_FANOUT, &group, sizeof(group)))
			goto cleanup;
		if (i == 0) {
			socklen_t bytes = sizeof(group);

			getsockopt(workers[0].socket, SOL_PACKET, PACKET_FANOUT, &group, &bytes);
			group &= ~(PACKET_FANOUT_FLAG_UNIQUEID << 16);
		}
	}
	program = bpf_program__fd(skeleton->progs.fanout);
	status = set_option(workers[0].socket, SOL_PACKET, PACKET_FANOUT_DATA, &program,
			    sizeof(program));
cleanup:
	fanout_bpf__destroy(skeleton); /* the group keeps the program */
	return status;
}

/* The kernel gets our VXLAN-GPE packets as well and would answer "port unreachable", unless a
 * socket is bound to that port. */
static int open_udp_port(void)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(VXLAN_GPE_UDP_PORT),
	};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || drop_everything(fd) ||
	    set_option(fd, SOL_SOCKET, SO_BINDTODEVICE, own.name, sizeof(own.name)))
		return -1;
	if (bind(fd, (struct sockaddr *)&address, sizeof(address))) {
		complain("cannot bind to UDP port %d: %s", VXLAN_GPE_UDP_PORT, strerror(errno));
		return -1;
	}
	return 0;
}

static int start_thread(struct worker *worker)
{
	cpu_set_t cpus;
	int error = pthread_create(&worker->thread, NULL, work, worker);

	if (error) {
		complain("cannot start a thread: %s", strerror(error));
		return -1;
	}
	if (worker->cpu < 0)
		return 0;
	CPU_ZERO(&cpus);
	CPU_SET((size_t)worker->cpu, &cpus);
	error = pthread_setaffinity_np(worker->thread, sizeof(cpus), &cpus);
	if (error) {
		complain("cannot pin a thread to CPU %d: %s", worker->cpu, strerror(error));
		return -1;
	}
	return 0;
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
	if (open_udp_port())
		return -1;
	for (unsigned int i = 0; i < worker_count; i++) {
		workers[i].cpu = cpus->count ? cpus->cpus[i] : -1;
		workers[i].own_mac = own.mac;
		if (open_socket(&workers[i]))
			return -1;
	}
	if (worker_count > 1 && join_fanout())
		return -1;
	for (unsigned int i = 0; i < worker_count; i++)
		if (start_thread(&workers[i]) ||
		    set_option(workers[i].socket, SOL_SOCKET, SO_DETACH_FILTER, &unused,
			       sizeof(unused)))
			return -1;
	return 0;
}

/* --- reading --- */

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
