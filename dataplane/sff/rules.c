// SPDX-License-Identifier: Apache-2.0
/* Reads classifier rules, and splits them into masked tuples. Functions that take words return 0,
 * or -1 after complain(). */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "../common/options.h"
#include "rules.h"

#define PORT_BITS 16
#define MOST_PREFIXES 30 /* a range of ports becomes at most 2 * 16 - 2 prefixes */

/* A value under a mask, both in host byte order. */
struct masked {
	__u16 value, mask;
};

/* Take a prefix of IPv4 or IPv6, and note the version of IP, which must be the same in all of a
 * rule. */
static int take_prefix(struct words *words, const char *name, struct rule_text *rule,
		       struct prefix *prefix)
{
	char *value = take_value(words, name), *slash;
	bool is_ipv6;
	long most;

	if (!value)
		return -1;
	if (prefix->given)
		return refuse_line(words, "there is a %s already", name);
	is_ipv6 = strchr(value, ':') != NULL;
	most = is_ipv6 ? 128 : 32;
	prefix->bits = most;
	slash = strchr(value, '/');
	if (slash)
		*slash = '\0';
	if (inet_pton(is_ipv6 ? AF_INET6 : AF_INET, value, prefix->address) != 1)
		return refuse_line(words, "%s is '%s', not an IPv4 or IPv6 address", name, value);
	if (slash && parse_integer(slash + 1, 0, most, &prefix->bits))
		return refuse_line(words,
				   "the prefix length of %s is '%s', not a number from 0 to %ld",
				   name, slash + 1, most);
	if (rule->version && rule->version != (is_ipv6 ? 6 : 4))
		return refuse_line(words, "IPv4 and IPv6 in one rule");
	rule->version = is_ipv6 ? 6 : 4;
	prefix->given = true;
	return 0;
}

/* Take a range of ports, LOW-HIGH or one port. */
static int take_range(struct words *words, const char *name, struct port_range *range)
{
	char *value = take_value(words, name), *dash;

	if (!value)
		return -1;
	if (range->given)
		return refuse_line(words, "there is a %s already", name);
	dash = strchr(value, '-');
	if (dash)
		*dash = '\0';
	if (parse_integer(value, 0, 65535, &range->low))
		return refuse_line(words, "%s is '%s', not a number from 0 to 65535", name, value);
	range->high = range->low;
	if (dash && parse_integer(dash + 1, range->low, 65535, &range->high))
		return refuse_line(words, "%s ends at '%s', not a number from %ld to 65535", name,
				   dash + 1, range->low);
	range->given = true;
	return 0;
}

static int take_protocol(struct words *words, struct rule_text *rule)
{
	static const char *const names[] = { "icmp", "tcp", "udp", "sctp", "icmpv6", NULL };
	static const __u8 numbers[] = { IPPROTO_ICMP, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_SCTP,
					IPPROTO_ICMPV6 };
	const char *value = take_value(words, "protocol");
	long number;
	int place;

	if (!value)
		return -1;
	if (rule->has_protocol)
		return refuse_line(words, "there is a protocol already");
	place = find_word(names, value, strlen(value));
	if (place < 0 && parse_integer(value, 0, 255, &number))
		return refuse_line(words,
				   "protocol is '%s', not one of: icmp, tcp, udp, sctp, icmpv6, "
				   "a number from 0 to 255",
				   value);
	rule->protocol = place < 0 ? (__u8)number : numbers[place];
	rule->has_protocol = true;
	return 0;
}

static int take_version(struct words *words, struct rule_text *rule)
{
	static const char *const versions[] = { "4", "6", NULL };
	long place;

	if (take_choice(words, "version", versions, &place))
		return -1;
	if (rule->version && rule->version != (place ? 6 : 4))
		return refuse_line(words, "IPv4 and IPv6 in one rule");
	rule->version = place ? 6 : 4;
	return 0;
}

int rule_take(struct words *words, struct rule_text *rule)
{
	if (offers(words, "protocol"))
		return take_protocol(words, rule);
	if (offers(words, "version"))
		return take_version(words, rule);
	if (offers(words, "source"))
		return take_prefix(words, "source", rule, &rule->source);
	if (offers(words, "destination"))
		return take_prefix(words, "destination", rule, &rule->destination);
	if (offers(words, "source-port"))
		return take_range(words, "source-port", &rule->source_port);
	if (offers(words, "destination-port"))
		return take_range(words, "destination-port", &rule->destination_port);
	return refuse_line(words, "a condition of a rule starts with version, protocol, source, "
				  "destination, source-port, or destination-port");
}

/* Split a range of ports into as few masked values as possible. Returns how many there are. */
static unsigned int split(const struct port_range *range, struct masked *parts)
{
	long low = range->low, high = range->high;
	unsigned int count = 0;

	if (!range->given) {
		parts[0] = (struct masked){ 0, 0 };
		return 1;
	}
	while (low <= high) {
		unsigned int bits = 0;

		/* The largest block that starts here and ends within. */
		while (bits < PORT_BITS && !(low & (1L << bits)) &&
		       low + (1L << (bits + 1)) - 1 <= high)
			bits++;
		parts[count++] = (struct masked){ (__u16)low, (__u16)(0xffffU << bits) };
		low += 1L << bits;
	}
	return count;
}

/* Return a mask of the bits that a prefix of length `bits` fixes in an address's 32-bit word number
 * `word`. */
static __be32 fixed_bits(long bits, int word)
{
	long fixed = bits - 32 * word;

	return fixed <= 0 ? 0 : htonl(fixed >= 32 ? ~0U : ~0U << (32 - fixed));
}

/* Write the rule's prefixes into a condition, `value` under the mask `bits`. */
static void put_prefixes(const struct rule_text *rule, struct sff_tuple *value,
			 struct sff_tuple *bits)
{
	bits->source = fixed_bits(rule->source.bits, 0);
	bits->destination = fixed_bits(rule->destination.bits, 0);
	value->source = rule->source.address[0] & bits->source;
	value->destination = rule->destination.address[0] & bits->destination;
	for (int i = 0; i < 3; i++) {
		bits->source_rest[i] = fixed_bits(rule->source.bits, i + 1);
		bits->destination_rest[i] = fixed_bits(rule->destination.bits, i + 1);
		value->source_rest[i] = rule->source.address[i + 1] & bits->source_rest[i];
		value->destination_rest[i] =
			rule->destination.address[i + 1] & bits->destination_rest[i];
	}
}

/* Return the number of a mask, which is new or was there; `rank` is of the rule that needs it. -1
 * after complain() if there are too many. */
static int mask_number(struct words *words, const struct sff_tuple *bits, __u32 rank,
		       struct tables *tables)
{
	for (unsigned int i = 0; i < tables->mask_count; i++)
		if (memcmp(&tables->masks[i].bits, bits, sizeof(*bits)) == 0)
			return (int)i;
	if (tables->mask_count == SFF_MASKS)
		return refuse_line(words,
				   "rules have more than %d different masks: use fewer prefix "
				   "lengths, or port ranges that start and end at powers of two",
				   SFF_MASKS);
	tables->masks[tables->mask_count] = (struct sff_mask){ .bits = *bits, .rank = rank };
	return (int)tables->mask_count++;
}

/* Add a rule to the tables, with these masked values for its ports. Returns 0, or -1 after
 * complain(). */
static int add(struct words *words, const struct rule_text *rule, struct masked source,
	       struct masked destination, __u32 rank, struct tables *tables)
{
	/* A packet must match: (its tuple & bits) == value. */
	struct sff_tuple value = { .port = rule->port }, bits = { .port = 0xff };
	struct rule_line *line;
	int mask;

	if (rule->version) {
		value.version = rule->version;
		bits.version = 0xff;
	}
	if (rule->has_protocol) {
		value.protocol = rule->protocol;
		bits.protocol = 0xff;
	}
	put_prefixes(rule, &value, &bits);
	value.source_port = htons(source.value);
	bits.source_port = htons(source.mask);
	value.destination_port = htons(destination.value);
	bits.destination_port = htons(destination.mask);
	mask = mask_number(words, &bits, rank, tables);
	if (mask < 0)
		return -1;
	if (tables->rules.count == tables->most_rules)
		return refuse_line(words,
				   "there is room for %u rules (a range of ports counts as "
				   "several); start with more --rules",
				   tables->most_rules);
	value.mask = (__u8)mask;
	tables->masks[mask].ports[rule->port / 32] |= 1U << rule->port % 32;
	line = grow(&tables->rules);
	line->tuple = value;
	line->rank = rank;
	line->path = rule->path;
	return 0;
}

int rule_add(struct words *words, const struct rule_text *rule, struct tables *tables)
{
	struct masked sources[MOST_PREFIXES], destinations[MOST_PREFIXES];
	unsigned int source_count = split(&rule->source_port, sources);
	unsigned int destination_count = split(&rule->destination_port, destinations);
	__u32 rank = tables->rules.count; /* of all parts of the rule */

	if ((rule->source_port.given || rule->destination_port.given) &&
	    (!rule->has_protocol ||
	     (rule->protocol != IPPROTO_TCP && rule->protocol != IPPROTO_UDP &&
	      rule->protocol != IPPROTO_SCTP)))
		return refuse_line(words, "ports require protocol tcp, udp, or sctp");
	for (unsigned int i = 0; i < source_count; i++)
		for (unsigned int j = 0; j < destination_count; j++)
			if (add(words, rule, sources[i], destinations[j], rank, tables))
				return -1;
	return 0;
}
