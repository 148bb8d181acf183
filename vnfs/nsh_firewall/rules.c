// SPDX-License-Identifier: Apache-2.0
/* Reads rules as lines of text into the table, and prints them. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "../../dataplane/common/clock.h"
#include "../../dataplane/common/options.h"
#include "filter_user.h"
#include "rules.h"

#define CLOCK CLOCK_MONOTONIC /* the clock that the kernel side uses */
#define MOST_WORDS 7
#define MS_NS 1000000ULL
#define LONGEST_MS (1000L * 3600 * 24)
#define BATCH 4096

/* A key of one of the maps. */
union key {
	struct fw_flow4 flow4;
	struct fw_flow6 flow6;
	__be32 source4;
	struct fw_address6 source6;
	__u32 only; /* of the lease: 0 */
};

struct address {
	int family; /* AF_INET: `v4` is set; AF_INET6: `v6` */
	__be32 v4;
	struct fw_address6 v6;
};

/* --- from text --- */

/* Read an address of either version of IP. Returns 0, or -1 if it is none. */
static int parse_address(const char *text, struct address *address)
{
	if (inet_pton(AF_INET, text, &address->v4) == 1)
		address->family = AF_INET;
	else if (inet_pton(AF_INET6, text, &address->v6) == 1)
		address->family = AF_INET6;
	else
		return -1;
	return 0;
}

/* Read a flow from `words`: PROTOCOL ADDRESS PORT ADDRESS PORT. Returns its map, or -1. */
static int parse_flow(char *const *words, union key *key)
{
	long protocol, one_port, other_port;
	struct address one, other;

	if (parse_integer(words[0], 0, 255, &protocol) || parse_address(words[1], &one) ||
	    parse_integer(words[2], 0, 65535, &one_port) || parse_address(words[3], &other) ||
	    parse_integer(words[4], 0, 65535, &other_port) || one.family != other.family)
		return -1;
	if (one.family == AF_INET) {
		key->flow4.protocol = (__u8)protocol;
		fw_flow4_order(&key->flow4, one.v4, htons((__u16)one_port), other.v4,
			       htons((__u16)other_port));
		return TABLE_FLOWS4;
	}
	key->flow6.protocol = (__u8)protocol;
	fw_flow6_order(&key->flow6, &one.v6, htons((__u16)one_port), &other.v6,
		       htons((__u16)other_port));
	return TABLE_FLOWS6;
}

/* Read a source. Returns its map, or -1. */
static int parse_source(const char *word, union key *key)
{
	struct address address;

	if (parse_address(word, &address))
		return -1;
	if (address.family == AF_INET) {
		key->source4 = address.v4;
		return TABLE_SOURCES4;
	}
	key->source6 = address.v6;
	return TABLE_SOURCES6;
}

/* Read a line; `key` and `duration` get what it says. Returns the map that it is for, or -1 if
 * it is no rule. */
static int parse_line(char *line, union key *key, const char **duration)
{
	char *words[MOST_WORDS + 1], *rest = NULL; /* one more, to notice what is too much */
	unsigned int count = 0;

	memset(key, 0, sizeof(*key));
	for (char *word = strtok_r(line, " \n", &rest); word && count <= MOST_WORDS;
	     word = strtok_r(NULL, " \n", &rest))
		words[count++] = word;
	if (count < 2)
		return -1;
	*duration = words[1];
	if (strcmp(words[0], "flow") == 0 && count == 7)
		return parse_flow(words + 2, key);
	if (strcmp(words[0], "source") == 0 && count == 3)
		return parse_source(words[2], key);
	return strcmp(words[0], "lease") == 0 && count == 2 ? TABLE_LEASE : -1;
}

/* Return the hash of a rule, as the program computes it. */
static __u64 hash_of(int map, const union key *key)
{
	switch (map) {
	case TABLE_FLOWS4:
		return fw_hash_flow4(&key->flow4);
	case TABLE_FLOWS6:
		return fw_hash_flow6(&key->flow6);
	case TABLE_SOURCES4:
		return fw_hash_source4(key->source4);
	default:
		return fw_hash_address6(&key->source6);
	}
}

/* Do what a line says. Returns 0, or -errno. */
static int change(const struct table *table, struct filter *filter, char *line)
{
	const char *duration;
	union key key;
	int map = parse_line(line, &key, &duration);
	const __u64 now = clock_ns(CLOCK);
	__u64 until_ns;
	long ms;

	if (map < 0)
		return -EINVAL;
	if (strcmp(duration, "-") == 0 && map != TABLE_LEASE) {
		if (bpf_map_delete_elem(table->maps[map], &key) && errno != ENOENT)
			return -errno;
		return 0;
	}
	if (parse_integer(duration, 0, LONGEST_MS, &ms))
		return -EINVAL;
	/* The program's clock lags: by it, a lease that ends now would last until the next tick. */
	until_ns = map == TABLE_LEASE && !ms ? 0 : now + (__u64)ms * MS_NS;
	/* The filter comes first, so that a rule is in force as soon as it is there. */
	if (map != TABLE_LEASE)
		filter_add(filter, hash_of(map, &key), now, until_ns);
	return bpf_map_update_elem(table->maps[map], &key, &until_ns, BPF_ANY) ? -errno : 0;
}

int rules_change(const struct table *table, FILE *in)
{
	struct filter filter;
	unsigned long number = 0;
	size_t bytes = 0;
	char *line = NULL;
	/* -errno of the first line that is refused; -1: there is no table, or no filter. */
	int error = table && filter_open(&filter, table->maps[TABLE_FILTER]) == 0 ? 0 : -1;
	const bool open = !error;

	while (getline(&line, &bytes, in) > 0 && *line != '\n') {
		number++;
		if (!error && (error = change(table, &filter, line)))
			complain("line %lu: %s", number,
				 error == -EINVAL  ? "this is no rule"
				 : error == -E2BIG ? "there is no room for another rule"
						   : strerror(-error));
	}
	free(line);
	if (open)
		filter_close(&filter);
	return error ? -1 : 0;
}

/* --- to text --- */

static void print_flow(FILE *out, int family, const void *low, __be16 low_port, const void *high,
		       __be16 high_port, __u8 protocol, unsigned long ms)
{
	char one[INET6_ADDRSTRLEN], other[INET6_ADDRSTRLEN];

	fprintf(out, "flow %lu %u %s %u %s %u\n", ms, protocol,
		inet_ntop(family, low, one, sizeof(one)), ntohs(low_port),
		inet_ntop(family, high, other, sizeof(other)), ntohs(high_port));
}

static void print_rule(FILE *out, int map, const union key *key, unsigned long ms)
{
	const struct fw_flow4 *flow4 = &key->flow4;
	const struct fw_flow6 *flow6 = &key->flow6;
	char text[INET6_ADDRSTRLEN];

	switch (map) {
	case TABLE_FLOWS4:
		print_flow(out, AF_INET, &flow4->low, flow4->low_port, &flow4->high,
			   flow4->high_port, flow4->protocol, ms);
		break;
	case TABLE_FLOWS6:
		print_flow(out, AF_INET6, &flow6->low, flow6->low_port, &flow6->high,
			   flow6->high_port, flow6->protocol, ms);
		break;
	default:
		inet_ntop(map == TABLE_SOURCES4 ? AF_INET : AF_INET6, key, text, sizeof(text));
		fprintf(out, "source %lu %s\n", ms, text);
	}
}

static const size_t key_bytes[] = {
	[TABLE_FLOWS4] = sizeof(struct fw_flow4),
	[TABLE_FLOWS6] = sizeof(struct fw_flow6),
	[TABLE_SOURCES4] = sizeof(__be32),
	[TABLE_SOURCES6] = sizeof(struct fw_address6),
};

/* Print the rules of a map that are in force. Returns 0, or -errno. */
static int list_map(const struct table *table, int map, FILE *out)
{
	static char keys[BATCH * sizeof(union key)];
	static __u64 expires_ns[BATCH];
	char cursor[sizeof(union key)];
	const __u64 now = clock_ns(CLOCK);
	void *from = NULL;
	int error = 0;

	while (!error) {
		__u32 count = BATCH;

		/* With -ENOENT, these entries are the last ones. */
		error = bpf_map_lookup_batch(table->maps[map], from, cursor, keys, expires_ns,
					     &count, NULL);
		if (error && error != -ENOENT)
			return error;
		for (__u32 i = 0; i < count; i++) {
			union key key;

			memcpy(&key, keys + i * key_bytes[map], key_bytes[map]);
			if (expires_ns[i] > now)
				print_rule(out, map, &key,
					   (unsigned long)((expires_ns[i] - now) / MS_NS));
		}
		from = cursor; /* where the next batch begins */
	}
	return 0;
}

int rules_list(const struct table *table, FILE *out)
{
	for (int map = TABLE_FLOWS4; map <= TABLE_SOURCES6; map++) {
		int error = list_map(table, map, out);

		if (error) {
			complain("cannot list the rules: %s", strerror(-error));
			return -1;
		}
	}
	return 0;
}
