// SPDX-License-Identifier: Apache-2.0
/* Engine `packet` of sfc-pktgen: sends by a packet socket, for interfaces that take no frames
 * from XDP. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/if_packet.h>

#include "../common/clock.h"
#include "../common/report.h"
#include "packet.h"
#include "engines.h"
#include "pace.h"
#include "settings.h"

#define BATCH 32
#define LONGEST 1514 /* bytes of a frame without FCS */

/* Packets that are handed over by one system call. */
struct burst {
	struct mmsghdr messages[BATCH];
	struct iovec parts[BATCH];
	__u8 frames[BATCH][LONGEST];
	unsigned int count;
};

/* Open a packet socket that sends by the interface. Returns its descriptor, or -1 after
 * complain(). */
static int open_socket(const struct pktgen_settings *settings)
{
	const struct sockaddr_ll address = { .sll_family = AF_PACKET,
					     .sll_protocol = htons(ETH_P_IP),
					     .sll_ifindex = (int)settings->interface };
	const int bypass = 1;
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd >= 0 && !bind(fd, (const struct sockaddr *)&address, sizeof(address)) &&
	    !setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &bypass, sizeof(bypass)))
		return fd;
	complain("no packet socket: %s%s", strerror(errno),
		 errno == EPERM ? " (it needs root, or CAP_NET_RAW)" : "");
	return -1;
}

/* Fill the burst with the packets that are due by now, at most BATCH. */
static void gather(const struct pktgen_settings *settings, struct pktgen_state *state,
		   const struct pktgen_pick *picks, struct burst *burst)
{
	burst->count = 0;
	while (burst->count < BATCH) {
		__u8 *frame = burst->frames[burst->count];
		__u64 now = clock_ns(CLOCK_MONOTONIC);
		__u32 flow, size;

		if (!pktgen_due(settings, state, now))
			return;
		flow = pktgen_flow(settings, state, picks);
		size = pktgen_size(settings, state);
		pktgen_write((struct pktgen_packet *)frame, settings, size, (__u32)state->packets,
			     flow, now);
		burst->parts[burst->count++].iov_len = size;
		state->packets++;
		state->bytes += size;
		state->last_ns = now;
	}
}

/* Send the burst. Frames that the interface refuses are counted; any other failure ends the
 * sending. Returns 0, or -1 after complain(). */
static int flush(int fd, struct burst *burst, struct sent *sent)
{
	unsigned int next = 0;

	while (next < burst->count) {
		int taken = sendmmsg(fd, burst->messages + next, burst->count - next, 0);

		if (taken > 0) {
			next += (unsigned int)taken;
		} else if (errno == ENOBUFS || errno == EAGAIN) {
			sent->refused++;
			next++;
		} else if (errno != EINTR) {
			complain("cannot send: %s", strerror(errno));
			return -1;
		}
	}
	return 0;
}

/* Allocate a burst; NULL without memory. Its frames are zero, as pktgen_write() needs them. */
static struct burst *make_burst(void)
{
	struct burst *burst = calloc(1, sizeof(*burst));

	for (unsigned int i = 0; burst && i < BATCH; i++) {
		burst->parts[i].iov_base = burst->frames[i];
		burst->messages[i].msg_hdr.msg_iov = &burst->parts[i];
		burst->messages[i].msg_hdr.msg_iovlen = 1;
	}
	return burst;
}

int send_by_packet_socket(const struct job *job, const struct pktgen_settings *settings,
			  struct sent *sent)
{
	struct pktgen_pick *picks = calloc(PKTGEN_PICKS, sizeof(*picks));
	struct burst *burst = make_burst();
	struct pktgen_state *state = &sent->state;
	bool sleeps = pace_sleep_pays(settings);
	int fd = open_socket(settings), error = fd < 0 ? -1 : 0;

	if (!picks || !burst) {
		complain("no memory for packets");
		error = -1;
	}
	state->random = (__u64)job->run << 32 | 1; /* never 0 */
	if (!error && settings->zipf)
		settings_zipf(job->zipf, settings->flows, picks);
	while (!error && !pace_stopped() && !state->ended) {
		gather(settings, state, picks, burst);
		error = flush(fd, burst, sent);
		if (sleeps)
			pace_sleep_until_due(settings, state);
	}
	if (fd >= 0)
		close(fd);
	free(burst);
	free(picks);
	return error;
}
