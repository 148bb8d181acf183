// SPDX-License-Identifier: Apache-2.0
/* What the ways to use an engine share: printing, estimates, and frames. */
#include <arpa/inet.h>
#include <net/ethernet.h>
#include <string.h>

#include <rte_mempool.h>

#include "../../dataplane/capture/damage.h"
#include "../../dataplane/common/report.h"
#include "rows.h"
#include "tool.h"

#define CACHED 256 /* free frames that each thread keeps for itself */
#define LINK_ETHERNET 1

const char *const counter_names[COUNTS] = {
	[COUNT_FORWARDED] = "forwarded",
	[COUNT_COUNTED] = "counted",
	[COUNT_UNMONITORED] = "unmonitored",
	[COUNT_BLOCKED] = "blocked",
	[COUNT_HEAVY] = "heavy",
	[COUNT_PASSED] = "passed",
	[COUNT_TRUNCATED] = "truncated",
	[COUNT_VERSION] = "version",
	[COUNT_MD_TYPE] = "md_type",
	[COUNT_LENGTH] = "length",
	[COUNT_OAM] = "oam",
	[COUNT_SI_ZERO] = "si_zero",
	[COUNT_SI_EXHAUSTED] = "si_exhausted",
	[COUNT_ENCAPSULATION] = "encapsulation",
};

/* Print an IP address as the member `name`. Of IPv4, `low` has it all. */
static void print_address(FILE *out, const char *name, unsigned int version, uint64_t high,
			  uint64_t low)
{
	uint64_t words[2] = { rte_cpu_to_be_64(high), rte_cpu_to_be_64(low) };
	char text[INET6_ADDRSTRLEN];

	if (version == 4)
		inet_ntop(AF_INET, (uint8_t *)&words[1] + 4, text, sizeof(text));
	else
		inet_ntop(AF_INET6, words, text, sizeof(text));
	fprintf(out, "\"%s\": \"%s\"", name, text);
}

void print_key(FILE *out, const struct flow_key *key)
{
	unsigned int version = key->protocol >> 8;

	print_address(out, "source", version, key->source_high, key->source_low);
	fprintf(out, ", ");
	print_address(out, "destination", version, key->destination_high, key->destination_low);
	fprintf(out, ", \"protocol\": %u, \"source_port\": %u, \"destination_port\": %u",
		key->protocol & 0xff, key->ports >> 16, key->ports & 0xffff);
}

uint32_t sketch_estimate(const struct work *work, struct engine *engine,
			 const struct flow_key *flow)
{
	const struct settings *settings = &work->settings;
	struct row_key key = rows_key_of(settings->seed, flow);
	uint32_t least = UINT32_MAX;

	for (uint32_t row = 0; row < settings->rows; row++)
		least = RTE_MIN(least,
				work->type->cell(engine, row, rows_column(settings, &key, row)));
	return least;
}

void print_counters(FILE *out, const struct engine_type *type, struct engine *engine)
{
	fprintf(out, "\"counters\": {");
	for (enum counter counter = 0; counter < COUNTS; counter++)
		fprintf(out, "%s\"%s\": %lu", counter ? ", " : "", counter_names[counter],
			type->counter(engine, counter));
	fprintf(out, "}");
}

bool frame_take(const struct capture *capture, const struct frame *read, struct taken *frame)
{
	static uint8_t room[MOST_FRAME_BYTES];
	const struct ether_header none = { 0 };
	struct network network = frame_network(read);
	uint32_t bytes = bytes_left(network.cursor);
	rte_be16_t type = rte_cpu_to_be_16(network.ethertype);

	frame->data = room;
	if (read->link_type == LINK_ETHERNET && read->bytes <= MOST_FRAME_BYTES) {
		frame->bytes = (uint32_t)read->bytes;
		memcpy(room, read->data, frame->bytes);
		return true;
	}
	/* Captures of backbone links have frames that begin with IP. */
	if (!network.cursor.at || bytes + sizeof(none) > MOST_FRAME_BYTES) {
		capture_damaged(capture, "a frame that is cut off, or longer than %d bytes",
				MOST_FRAME_BYTES);
		return false;
	}
	frame->bytes = (uint32_t)(sizeof(none) + bytes);
	memcpy(room, &none, sizeof(none));
	memcpy(room + sizeof(none) - sizeof(type), &type, sizeof(type));
	memcpy(room + sizeof(none), network.cursor.at, bytes);
	return true;
}

struct rte_mempool *frames_create(unsigned int count, unsigned int room)
{
	uint16_t bytes = (uint16_t)(RTE_PKTMBUF_HEADROOM + RTE_MAX(room, 2048U));
	struct rte_mempool *pool =
		rte_pktmbuf_pool_create("frames", count, CACHED, 0, bytes, SOCKET_ID_ANY);

	if (!pool)
		complain("no memory for %u frames", count);
	return pool;
}

struct rte_mbuf *frame_create(struct rte_mempool *pool, const uint8_t *data, uint32_t bytes)
{
	struct rte_mbuf *frame = rte_pktmbuf_alloc(pool);
	char *copy = frame ? rte_pktmbuf_append(frame, (uint16_t)bytes) : NULL;

	if (copy) {
		memcpy(copy, data, bytes);
		return frame;
	}
	rte_pktmbuf_free(frame);
	complain("a frame of %u bytes does not fit", bytes);
	return NULL;
}
