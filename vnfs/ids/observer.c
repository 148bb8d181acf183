// SPDX-License-Identifier: Apache-2.0
/* Observes packets that the kernel forwards, by a packet socket. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../dataplane/common/counter.h"
#include "../../dataplane/common/packet_ring.h"
#include "../../dataplane/common/report.h"
#include "observer.h"

#define BATCH 64 /* frames between two calls of rest() */
#define CAPTURED 320 /* room for headers, with options and extension headers */

static struct packet_ring ring;
static const struct inspector *inspector;
static _Atomic __u64 seen, missed;
static pthread_t thread;
static int ticks = -1; /* see inspector_ticks() */
static atomic_bool stopping;

/* Count the packets that were missed since the last call. */
static void read_drops(void)
{
	atomic_fetch_add(&missed, packet_drops(ring.socket));
}

/* Have a frame inspected, and give its place in the ring back. */
static void take(struct tpacket2_hdr *frame)
{
	inspector->frame(0, (__u8 *)frame + frame->tp_mac, frame->tp_snaplen,
			 frame->tp_sec * 1000000000ULL + frame->tp_nsec);
	packet_ring_give_back(frame);
	counter_add(&seen, 1);
}

/* Take frames until the ring is empty or the observer is to stop. */
static void take_all(void)
{
	struct tpacket2_hdr *frame;
	unsigned int taken = 0;

	/* As long as frames follow closely, this does not end, so rest() is called in between. */
	while (!atomic_load_explicit(&stopping, memory_order_relaxed) &&
	       (frame = packet_ring_next(&ring))) {
		take(frame);
		if (++taken % BATCH == 0)
			inspector->rest(0, false);
	}
}

/* Take the packets that arrived before the end, and none that arrives from now on. */
static void take_rest(void)
{
	struct tpacket2_hdr *frame;
	unsigned int left = ring.frame_count; /* more cannot have arrived before */

	packet_drop_everything(ring.socket, "the observer");
	while (left-- && (frame = packet_ring_next(&ring)))
		take(frame);
}

/* The thread that observes. */
static void *observe(void *unused)
{
	struct pollfd events[] = {
		{ .fd = ring.socket, .events = POLLIN },
		{ .fd = ticks, .events = POLLIN },
	};
	bool more = false; /* rest() asks for another call */

	(void)unused;
	while (!atomic_load_explicit(&stopping, memory_order_relaxed)) {
		take_all();
		more = inspector->rest(0, (events[1].revents && inspector_ticked(ticks)) || more);
		poll(events, 2, more ? 0 : -1);
		if (events[0].revents & POLLERR)
			packet_forget_error(ring.socket);
	}
	take_rest();
	read_drops();
	packet_ring_close(&ring);
	inspector->end(0);
	return NULL;
}

/* Let the socket receive what arrives at one of the interfaces and is for this host by its MAC
 * address. One socket for both keeps the order of the packets. Returns 0, or -1 after
 * complain(). */
static int filter(const struct interface interfaces[2])
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (__u32)(SKF_AD_OFF + SKF_AD_PKTTYPE)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_HOST, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (__u32)(SKF_AD_OFF + SKF_AD_IFINDEX)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (__u32)interfaces[0].index, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (__u32)interfaces[1].index, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, CAPTURED),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(*code), .filter = code };

	return packet_option(ring.socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program),
			     "the observer");
}

int observer_start(const struct interface interfaces[2], const struct inspector *chosen)
{
	struct sockaddr_ll any = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };

	inspector = chosen;
	ticks = inspector_ticks();
	if (ticks < 0 ||
	    packet_ring_open(&ring, PACKET_RING_FRAMES_OBSERVED, CAPTURED, "the observer") ||
	    filter(interfaces))
		return -1;
	if (bind(ring.socket, (struct sockaddr *)&any, sizeof(any))) {
		complain("cannot observe %s and %s: %s", interfaces[0].name, interfaces[1].name,
			 strerror(errno));
		return -1;
	}
	return cpus_start_thread(&thread, -1, observe, NULL);
}

__u64 observer_missed(void)
{
	read_drops();
	return missed;
}

__u64 observer_seen(void)
{
	return seen;
}

void observer_stop(void)
{
	atomic_store(&stopping, true); /* the thread sees it at the next tick */
	pthread_join(thread, NULL);
}
