// SPDX-License-Identifier: Apache-2.0
/* Parses the option --filter of pptmon. */
#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter.h"
#include "pptmon.h"

#define VALUE_BYTES 64 /* has room for an IPv6 address and its prefix length */

/* Parse the value of a part, such as sport=80, whose key is `key`. Keys of the source begin with
 * s. */
static void parse_protocol(struct ppt_filter *filter, const char *key, const char *value)
{
	(void)key;
	if (strcmp(value, "tcp") == 0)
		filter->protocol = IPPROTO_TCP;
	else if (strcmp(value, "udp") == 0)
		filter->protocol = IPPROTO_UDP;
	else
		refuse("--filter: proto=%s: tcp or udp", value);
}

static void parse_port(struct ppt_filter *filter, const char *key, const char *value)
{
	long port;

	if (parse_integer(value, 1, 65535, &port))
		refuse("--filter: %s=%s: a port, 1 to 65535", key, value);
	if (key[0] == 's')
		filter->source_port = (__u16)port;
	else
		filter->destination_port = (__u16)port;
}

/* Make a mask of 128 bits, of which the first `bits` are ones, in network order. */
static void make_mask(__u32 mask[4], long bits)
{
	for (int i = 0; i < 4; i++, bits -= 32) {
		long here = bits < 0 ? 0 : bits > 32 ? 32 : bits;

		mask[i] = here ? htonl(~0U << (32 - here)) : 0;
	}
}

static void parse_address(struct ppt_filter *filter, const char *key, const char *value)
{
	bool is_source = key[0] == 's';
	__u32 *address = is_source ? filter->source : filter->destination;
	__u32 *mask = is_source ? filter->source_mask : filter->destination_mask;
	int family = strchr(value, ':') ? AF_INET6 : AF_INET;
	long longest = family == AF_INET ? 32 : 128, bits = longest;
	char text[VALUE_BYTES];
	char *slash;

	snprintf(text, sizeof(text), "%s", value);
	slash = strchr(text, '/');
	if (slash)
		*slash++ = '\0';
	if (inet_pton(family, text, address) != 1)
		refuse("--filter: %s=%s: an IPv4 or IPv6 address, or such a network", key, value);
	if (slash && parse_integer(slash, 0, longest, &bits))
		refuse("--filter: %s=%s: the prefix length is 0 to %ld", key, value, longest);
	make_mask(mask, bits);
	for (int i = 0; i < 4; i++)
		if (address[i] & ~mask[i])
			refuse("--filter: %s=%s: address bits are set behind the prefix", key,
			       value);
	if (filter->family && filter->family != (family == AF_INET ? 4 : 6))
		refuse("--filter: src and dst are of different IP versions");
	filter->family = family == AF_INET ? 4 : 6;
}

static char *const keys[] = { "proto", "src", "dst", "sport", "dport", NULL };
/* What parses a part, by the place of its key in `keys`. */
static void (*const parsers[])(struct ppt_filter *filter, const char *key, const char *value) = {
	parse_protocol, parse_address, parse_address, parse_port, parse_port,
};

void take_filter(const struct tool_option *option, const char *argument)
{
	struct ppt_settings *settings = option->value;
	char *rest = strdupa(argument);
	unsigned int seen = 0;

	memset(&settings->filter, 0, sizeof(settings->filter));
	settings->filtered = 1;
	do {
		const char *part = rest;
		char *value = NULL;
		int key = getsubopt(&rest, keys, &value);

		if (key < 0 || !value)
			refuse("--filter: '%.40s': parts are proto=, src=, dst=, sport=, dport=, "
			       "with commas",
			       part);
		if (seen & 1U << key)
			refuse("--filter: %s is given twice", keys[key]);
		seen |= 1U << key;
		parsers[key](&settings->filter, keys[key], value);
	} while (*rest || !rest[-1]); /* where a comma was, getsubopt() has put a 0 */
}
