// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/numbers.h"
#include "filter.h"

#define VALUE_BYTES 64 /* an IPv6 address and its prefix length fit */

struct parser {
	struct ppt_filter *filter;
	char *error;
	size_t error_bytes;
};

#define refuse(parser, ...) (snprintf((parser)->error, (parser)->error_bytes, __VA_ARGS__), -1)

static int parse_protocol(struct parser *parser, const char *key, const char *value)
{
	(void)key;
	if (strcmp(value, "tcp") == 0)
		parser->filter->protocol = IPPROTO_TCP;
	else if (strcmp(value, "udp") == 0)
		parser->filter->protocol = IPPROTO_UDP;
	else
		return refuse(parser, "proto=%s: tcp or udp", value);
	return 0;
}

static int parse_port(struct parser *parser, const char *key, const char *value)
{
	long port;

	if (parse_integer(value, 1, 65535, &port))
		return refuse(parser, "%s=%s: a port, 1 to 65535", key, value);
	if (key[0] == 's')
		parser->filter->source_port = (__u16)port;
	else
		parser->filter->destination_port = (__u16)port;
	return 0;
}

/* The first `bits` of 128 are ones, in network order. */
static void make_mask(__u32 mask[4], long bits)
{
	for (int i = 0; i < 4; i++, bits -= 32) {
		long here = bits < 0 ? 0 : bits > 32 ? 32 : bits;

		mask[i] = here ? htonl(~0U << (32 - here)) : 0;
	}
}

static int parse_address(struct parser *parser, const char *key, const char *value)
{
	bool is_source = key[0] == 's';
	__u32 *address = is_source ? parser->filter->source : parser->filter->destination;
	__u32 *mask = is_source ? parser->filter->source_mask : parser->filter->destination_mask;
	int family = strchr(value, ':') ? AF_INET6 : AF_INET;
	long longest = family == AF_INET ? 32 : 128, bits = longest;
	char text[VALUE_BYTES];
	char *slash;

	snprintf(text, sizeof(text), "%s", value);
	slash = strchr(text, '/');
	if (slash)
		*slash++ = '\0';
	if (inet_pton(family, text, address) != 1)
		return refuse(parser, "%s=%s: an IPv4 or IPv6 address, or such a network", key,
			      value);
	if (slash && parse_integer(slash, 0, longest, &bits))
		return refuse(parser, "%s=%s: the prefix length is 0 to %ld", key, value, longest);
	make_mask(mask, bits);
	for (int i = 0; i < 4; i++)
		if (address[i] & ~mask[i])
			return refuse(parser, "%s=%s: address bits are set behind the prefix", key,
				      value);
	if (parser->filter->family && parser->filter->family != (family == AF_INET ? 4 : 6))
		return refuse(parser, "src and dst are of different IP versions");
	parser->filter->family = family == AF_INET ? 4 : 6;
	return 0;
}

static const struct part {
	const char *key;
	int (*parse)(struct parser *parser, const char *key, const char *value);
} parts[] = {
	{ "proto", parse_protocol }, { "src", parse_address }, { "dst", parse_address },
	{ "sport", parse_port },     { "dport", parse_port },
};

#define PARTS (sizeof(parts) / sizeof(parts[0]))

static int parse_part(struct parser *parser, const char *text, size_t bytes, unsigned int *seen)
{
	const char *equals = memchr(text, '=', bytes);
	size_t key_bytes = equals ? (size_t)(equals - text) : bytes;
	char value[VALUE_BYTES];

	for (unsigned int i = 0; equals && i < PARTS; i++) {
		size_t value_bytes = bytes - key_bytes - 1;

		if (strlen(parts[i].key) != key_bytes || memcmp(parts[i].key, text, key_bytes))
			continue;
		if (*seen & 1U << i)
			return refuse(parser, "%s is there twice", parts[i].key);
		*seen |= 1U << i;
		if (value_bytes >= sizeof(value))
			return refuse(parser, "the value of %s is too long", parts[i].key);
		memcpy(value, equals + 1, value_bytes);
		value[value_bytes] = '\0';
		return parts[i].parse(parser, parts[i].key, value);
	}
	return refuse(parser, "'%.*s': parts are proto=, src=, dst=, sport=, dport=, with commas",
		      (int)(bytes < 40 ? bytes : 40), text);
}

int parse_filter(const char *text, struct ppt_filter *filter, char *error, size_t error_bytes)
{
	struct parser parser = { filter, error, error_bytes };
	unsigned int seen = 0;

	memset(filter, 0, sizeof(*filter));
	for (;;) {
		size_t bytes = strcspn(text, ",");

		if (parse_part(&parser, text, bytes, &seen))
			return -1;
		if (!text[bytes])
			return 0;
		text += bytes + 1;
	}
}
