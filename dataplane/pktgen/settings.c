// SPDX-License-Identifier: Apache-2.0
/* Computes what engines need to know for a job. */
#include <arpa/inet.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "packet.h"
#include "settings.h"

#define TTL 64
#define NS_PER_S 1000000000ULL
#define NS_PER_MS 1000000ULL

/* Return the sum of 16-bit words in network byte order, for a checksum. */
static __u32 sum_words(const void *start, size_t bytes)
{
	const __u8 *next = start;
	__u32 sum = 0;

	for (size_t i = 0; i < bytes; i += 2)
		sum += (__u32)(next[i] << 8 | next[i + 1]);
	return sum;
}

/* Make the packet with which all packets of the job start. */
static void make_head(const struct job *job, const struct path *path, struct pktgen_packet *packet)
{
	__u32 run = (__u32)job->run | (job->warmup ? PKTGEN_WARMUP : 0);

	memset(packet, 0, sizeof(*packet));
	memcpy(packet->eth.h_dest, path->next_hop, ETH_ALEN);
	memcpy(packet->eth.h_source, path->source, ETH_ALEN);
	packet->eth.h_proto = htons(ETH_P_IP);
	packet->ip.version = 4;
	packet->ip.ihl = 5;
	packet->ip.ttl = TTL;
	packet->ip.frag_off = htons(PKTGEN_DONT_FRAGMENT);
	packet->ip.protocol = (__u8)job->protocol;
	packet->ip.daddr = path->to.s_addr;
	if (job->protocol == IPPROTO_UDP) {
		packet->udp.dest = htons((__u16)job->port);
		packet->udp_stamp.magic = htons(PKTGEN_MAGIC);
		packet->udp_stamp.run = htonl(run);
	} else {
		packet->ip.id = htons((__u16)(run >> 16));
		packet->tcp.dest = htons((__u16)job->port);
		packet->tcp.doff = 5;
		packet->tcp.syn = 1;
		packet->tcp.window = htons((__u16)run);
	}
}

void settings_make(const struct job *job, const struct interface *interface,
		   const struct path *path, struct pktgen_settings *settings)
{
	struct pktgen_packet packet;
	const size_t transport = offsetof(struct pktgen_packet, udp);

	make_head(job, path, &packet);
	memset(settings, 0, sizeof(*settings));
	memcpy(settings->head, &packet, sizeof(packet));
	settings->ip_sum = sum_words(&packet.ip, sizeof(packet.ip));
	/* The pseudo header has the destination and the protocol; pktgen_write() adds the rest. */
	settings->transport_sum =
		sum_words((__u8 *)&packet + transport, sizeof(packet) - transport) +
		sum_words(&packet.ip.daddr, sizeof(packet.ip.daddr)) + packet.ip.protocol;
	settings->protocol = (__u32)job->protocol;
	settings->flows = (__u32)job->flows;
	settings->source = ntohl(path->from.s_addr);
	settings->sources = (__u32)job->sources;
	settings->zipf = job->zipf > 0;
	settings->size_count = job->size_count;
	memcpy(settings->sizes, job->sizes, sizeof(job->sizes));
	for (__u32 i = 0; i < job->size_count; i++)
		if (job->sizes[i] > settings->longest)
			settings->longest = job->sizes[i];
	settings->interface = (__u32)interface->index;
	settings->duration_ns = (__u64)job->duration_ms * NS_PER_MS;
	if (job->rate)
		settings->interval = (NS_PER_S << PKTGEN_TICKS) / (__u64)job->rate;
}

/* The method is that of Vose, A linear algorithm for generating random numbers with a given
 * distribution, 1991. */
void settings_zipf(double exponent, __u32 flows, struct pktgen_pick *picks)
{
	/* `share`: what a flow must still get; 1 is as much as a cell has. */
	double *share = calloc(flows, sizeof(*share)), total = 0;
	__u32 *small = calloc(flows, sizeof(*small)), *large = calloc(flows, sizeof(*large));
	__u32 smalls = 0, larges = 0;

	if (!share || !small || !large)
		abort();
	for (__u32 k = 0; k < flows; k++)
		total += share[k] = pow(k + 1, -exponent);
	for (__u32 k = 0; k < flows; k++) {
		share[k] *= flows / total;
		if (share[k] < 1)
			small[smalls++] = k;
		else
			large[larges++] = k;
		/* At first all of a cell is for its own flow. */
		picks[k].other = k;
		picks[k].threshold = 0xffffffff;
	}
	/* A flow with less than a cell leaves the rest of its cell to one with more. */
	while (smalls && larges) {
		__u32 less = small[--smalls], more = large[larges - 1];

		picks[less].threshold = (__u32)(share[less] * 4294967296.0);
		picks[less].other = more;
		share[more] -= 1 - share[less];
		if (share[more] < 1) {
			larges--;
			small[smalls++] = more;
		}
	}
	free(share);
	free(small);
	free(large);
}
