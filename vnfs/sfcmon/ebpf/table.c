// SPDX-License-Identifier: Apache-2.0
/* The table of flows: writes, reads and clears its entries. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "../../../dataplane/common/options.h"
#include "../../../dataplane/common/report.h"
#include "table.h"

#define MOST_COUNT 65536
#define VERSION_AT 5 /* bytes of a FlowID2 */
#define SOURCE_PORT_AT 8
#define NUMBER_DIGITS 8

static int tables[SFCMON_BANKS]; /* file descriptors */
static size_t room; /* flows */
/* Entries that are read from a table, or written to it. */
static struct sfcmon_flow *flows;
static struct sfcmon_flow_counts *counts;

/* Read a FlowID2 from `count` hexadecimal digits. Returns its length in bytes; 0 if it is none. */
static size_t parse_flow(const char *digits, size_t count, struct sfcmon_flow *flow)
{
	unsigned char *bytes = (unsigned char *)flow;

	if (count != 2 * sizeof(__u32) * SFCMON_IPV4_WORDS &&
	    count != 2 * sizeof(__u32) * SFCMON_IPV6_WORDS)
		return 0;
	for (size_t i = 0; i < count / 2; i++) {
		char pair[3] = { digits[2 * i], digits[2 * i + 1] }, *end;

		if (strspn(pair, "0123456789abcdef") != 2)
			return 0;
		bytes[i] = (unsigned char)strtoul(pair, &end, 16);
	}
	return bytes[VERSION_AT] == (count / 2 == sizeof(*flow) ? 6 : 4) ? count / 2 : 0;
}

/* Read COUNT:FLOW. Returns 0, or -1 if it is none, or its last flow has no source port. */
static int parse_range(const char *text, size_t length, struct table_range *range)
{
	const char *colon = memchr(text, ':', length);
	char number[NUMBER_DIGITS] = "";
	__be16 port;
	long count;

	if (!colon || (size_t)(colon - text) >= sizeof(number))
		return -1;
	memcpy(number, text, (size_t)(colon - text));
	memset(range, 0, sizeof(*range));
	if (parse_integer(number, 1, MOST_COUNT, &count) ||
	    !parse_flow(colon + 1, length - (size_t)(colon + 1 - text), &range->first))
		return -1;
	memcpy(&port, (char *)&range->first + SOURCE_PORT_AT, sizeof(port));
	range->count = (unsigned long)count;
	return ntohs(port) + range->count - 1 > UINT16_MAX ? -1 : 0;
}

int table_parse_entries(const char *text, struct table_entries *entries)
{
	entries->count = 0;
	for (;;) {
		size_t length = strcspn(text, ",");

		if (entries->count == TABLE_RANGES ||
		    parse_range(text, length, &entries->ranges[entries->count++]))
			return -1;
		if (!text[length])
			return 0;
		text += length + 1;
	}
}

unsigned long table_count(const struct table_entries *entries)
{
	unsigned long sum = 0;

	for (size_t i = 0; i < entries->count; i++)
		sum += entries->ranges[i].count;
	return sum;
}

int table_size(struct bpf_object *object, long size)
{
	room = (size_t)size;
	if (bpf_map__set_max_entries(bpf_object__find_map_by_name(object, "flows0"), (__u32)room) ||
	    bpf_map__set_max_entries(bpf_object__find_map_by_name(object, "flows1"), (__u32)room)) {
		complain("cannot set the size of the table: %s", strerror(errno));
		return -1;
	}
	return 0;
}

/* Write the first `count` of `flows` and `counts` to a bank. Returns 0, or -1 after complain(). */
static int write_entries(int bank, __u32 count)
{
	LIBBPF_OPTS(bpf_map_batch_opts, how);

	if (!count || !bpf_map_update_batch(tables[bank], flows, counts, &count, &how))
		return 0;
	complain("cannot write entries of the table: %s", strerror(errno));
	return -1;
}

int table_open(struct bpf_object *object, const struct table_entries *entries)
{
	__u32 count = 0;

	tables[0] = bpf_object__find_map_fd_by_name(object, "flows0");
	tables[1] = bpf_object__find_map_fd_by_name(object, "flows1");
	flows = calloc(room, sizeof(*flows));
	counts = calloc(room, sizeof(*counts));
	if (!flows || !counts) {
		complain("not enough memory");
		return -1;
	}
	for (size_t i = 0; i < entries->count; i++) {
		const struct table_range *range = &entries->ranges[i];
		__be16 port;

		memcpy(&port, (char *)&range->first + SOURCE_PORT_AT, sizeof(port));
		for (unsigned long j = 0; j < range->count; j++, count++) {
			__be16 next = htons((uint16_t)(ntohs(port) + j));

			flows[count] = range->first;
			memcpy((char *)&flows[count] + SOURCE_PORT_AT, &next, sizeof(next));
			counts[count] = (struct sfcmon_flow_counts){ .stays = 1 };
		}
	}
	return write_entries(0, count) || write_entries(1, count) ? -1 : 0;
}

/* Read all entries of a bank to `flows` and `counts`. Returns how many there are, or -1 after
 * complain(). */
static long read_entries(int bank)
{
	LIBBPF_OPTS(bpf_map_batch_opts, how);
	__u32 count = (__u32)room, place;

	/* ENOENT means that there are no more entries. */
	if (!bpf_map_lookup_batch(tables[bank], NULL, &place, flows, counts, &count, &how) ||
	    errno == ENOENT)
		return count;
	complain("cannot read the table: %s", strerror(errno));
	return -1;
}

int table_clear(int bank)
{
	LIBBPF_OPTS(bpf_map_batch_opts, how);
	long there = read_entries(bank);
	__u32 busy = 0;

	if (there < 0)
		return -1;
	for (long i = 0; i < there; i++) {
		if (!counts[i].packets && !counts[i].stays) {
			if (bpf_map_delete_elem(tables[bank], &flows[i])) {
				complain("cannot remove an entry of the table: %s",
					 strerror(errno));
				return -1;
			}
		} else if (counts[i].packets) {
			/* Collected at the beginning, and written again as 0. */
			flows[busy] = flows[i];
			counts[busy++] = (struct sfcmon_flow_counts){ .stays = counts[i].stays };
		}
	}
	return write_entries(bank, busy);
}

static void print_flow(const struct sfcmon_flow *flow, FILE *out)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *bytes = (const unsigned char *)flow;
	char text[2 * sizeof(*flow) + 1] = "";

	for (size_t i = 0; i < sizeof(*flow); i++) {
		text[2 * i] = digits[bytes[i] >> 4];
		text[2 * i + 1] = digits[bytes[i] & 15];
	}
	fputs(text, out);
}

int table_print(int bank, FILE *out)
{
	long there = read_entries(bank);
	const char *separator = "";

	if (there < 0)
		return -1;
	fputs(", \"flows\": [", out);
	for (long i = 0; i < there; i++) {
		if (!counts[i].packets)
			continue;
		fprintf(out, "%s[\"", separator);
		print_flow(&flows[i], out);
		fprintf(out, "\", %llu, %llu]", counts[i].packets, counts[i].bytes);
		separator = ", ";
	}
	fputs("]", out);
	return 0;
}
