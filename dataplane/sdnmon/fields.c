// SPDX-License-Identifier: Apache-2.0
/* Reads and prints match fields and flows, and lays out keys. */
#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "../common/options.h"
#include "fields.h"

#define MOST_TEXT 2048

/* How values of a field are written as text. */
enum form {
	NUMBER,
	HEXADECIMAL,
	MAC,
	IPV4,
	IPV6,
};

/* Properties of a field. It takes `bytes` in a key, of which `bits` bits can be set. Packets have
 * it if they have a header of `header` (0: all have it). Frames must be read up to `depth` for it
 * (enum sdnmon_depth). */
static const struct field {
	const char *name;
	unsigned int bytes, bits;
	enum form form;
	__u16 header;
	__u32 depth;
	bool looks_into_tunnels;
} fields[SDNMON_FIELDS] = {
	[SDNMON_IPV6_SRC] = { "ipv6_src", 16, 128, IPV6, SDNMON_HAS_IPV6, SDNMON_TO_IP },
	[SDNMON_IPV6_DST] = { "ipv6_dst", 16, 128, IPV6, SDNMON_HAS_IPV6, SDNMON_TO_IP },
	[SDNMON_TUNNEL_ID] = { "tunnel_id", 8, 64, NUMBER, SDNMON_HAS_TUNNEL, SDNMON_TO_IP, true },
	[SDNMON_IPV4_SRC] = { "ipv4_src", 4, 32, IPV4, SDNMON_HAS_IPV4, SDNMON_TO_IP },
	[SDNMON_IPV4_DST] = { "ipv4_dst", 4, 32, IPV4, SDNMON_HAS_IPV4, SDNMON_TO_IP },
	[SDNMON_NSH_SPI] = { "nsh_spi", 4, 24, NUMBER, SDNMON_HAS_NSH, SDNMON_TO_IP, true },
	[SDNMON_ETH_DST] = { "eth_dst", 6, 48, MAC, 0, SDNMON_TO_LINK },
	[SDNMON_ETH_SRC] = { "eth_src", 6, 48, MAC, 0, SDNMON_TO_LINK },
	[SDNMON_ETH_TYPE] = { "eth_type", 2, 16, HEXADECIMAL, 0, SDNMON_TO_LINK },
	[SDNMON_VLAN_VID] = { "vlan_vid", 2, 13, NUMBER, SDNMON_HAS_VLAN, SDNMON_TO_LINK },
	[SDNMON_TP_SRC] = { "tp_src", 2, 16, NUMBER, SDNMON_HAS_PORTS, SDNMON_TO_TRANSPORT },
	[SDNMON_TP_DST] = { "tp_dst", 2, 16, NUMBER, SDNMON_HAS_PORTS, SDNMON_TO_TRANSPORT },
	[SDNMON_TCP_FLAGS] = { "tcp_flags", 2, 12, HEXADECIMAL, SDNMON_HAS_TCP,
			       SDNMON_TO_TRANSPORT },
	[SDNMON_PRESENCE] = { "presence", 2, 16, HEXADECIMAL, 0, SDNMON_TO_LINK },
	[SDNMON_IP_PROTO] = { "ip_proto", 1, 8, NUMBER, SDNMON_HAS_IP, SDNMON_TO_IP },
	[SDNMON_IP_DSCP] = { "ip_dscp", 1, 6, NUMBER, SDNMON_HAS_IP, SDNMON_TO_IP },
	[SDNMON_IP_ECN] = { "ip_ecn", 1, 2, NUMBER, SDNMON_HAS_IP, SDNMON_TO_IP },
	[SDNMON_VLAN_PCP] = { "vlan_pcp", 1, 3, NUMBER, SDNMON_HAS_VLAN, SDNMON_TO_LINK },
	[SDNMON_ICMP_TYPE] = { "icmp_type", 1, 8, NUMBER, SDNMON_HAS_ICMP, SDNMON_TO_TRANSPORT },
	[SDNMON_ICMP_CODE] = { "icmp_code", 1, 8, NUMBER, SDNMON_HAS_ICMP, SDNMON_TO_TRANSPORT },
	[SDNMON_NSH_SI] = { "nsh_si", 1, 8, NUMBER, SDNMON_HAS_NSH, SDNMON_TO_IP, true },
};

/* --- values --- */

/* Read a value of the field, decimal or hexadecimal, to bytes in network order. Returns 0, or -1 if
 * the text is none; likewise below. */
static int read_number(const struct field *field, const char *text, __u8 *value)
{
	unsigned long long number, most = field->bits < 64 ? (1ULL << field->bits) - 1 : ~0ULL;
	char *end;

	if (!isdigit((unsigned char)*text))
		return -1;
	number = strtoull(text, &end, text[0] == '0' && text[1] == 'x' ? 16 : 10);
	if (*end || number > most)
		return -1;
	for (unsigned int i = field->bytes; i-- > 0; number >>= 8)
		value[i] = (__u8)number;
	return 0;
}

static int read_mac(const char *text, __u8 *value)
{
	int length = 0; /* what %n reads: nothing may follow the address */

	return sscanf(text, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%n", &value[0], &value[1],
		      &value[2], &value[3], &value[4], &value[5], &length) == 6 &&
			       !text[length]
		       ? 0
		       : -1;
}

static int read_value(const struct field *field, const char *text, __u8 *value)
{
	switch (field->form) {
	case MAC:
		return read_mac(text, value);
	case IPV4:
		return inet_pton(AF_INET, text, value) == 1 ? 0 : -1;
	case IPV6:
		return inet_pton(AF_INET6, text, value) == 1 ? 0 : -1;
	default:
		return read_number(field, text, value);
	}
}

/* Read a mask in the form of a value, or the length of a prefix. Returns 0, or -1. */
static int read_mask(const struct field *field, const char *text, __u8 *mask)
{
	bool is_address = field->form == IPV4 || field->form == IPV6;
	long prefix;

	if (!is_address || parse_integer(text, 0, (long)field->bits, &prefix))
		return read_value(field, text, mask);
	for (unsigned int i = 0; i < field->bytes; i++, prefix -= 8)
		mask[i] = prefix >= 8 ? 0xff : prefix <= 0 ? 0 : (__u8)(0xff << (8 - prefix));
	return 0;
}

static void print_value(const struct field *field, const __u8 *value, FILE *out)
{
	char text[INET6_ADDRSTRLEN];
	unsigned long long number = 0;

	switch (field->form) {
	case MAC:
		fprintf(out, "\"%02x:%02x:%02x:%02x:%02x:%02x\"", value[0], value[1], value[2],
			value[3], value[4], value[5]);
		return;
	case IPV4:
	case IPV6:
		inet_ntop(field->form == IPV4 ? AF_INET : AF_INET6, value, text, sizeof(text));
		fprintf(out, "\"%s\"", text);
		return;
	default:
		for (unsigned int i = 0; i < field->bytes; i++)
			number = number << 8 | value[i];
		fprintf(out, "%llu", number);
	}
}

/* --- fields --- */

/* Return the number of a field by its name; -1 if there is none that can be chosen. */
static int find_field(const char *name)
{
	for (int i = 0; i < SDNMON_FIELDS; i++)
		if (i != SDNMON_PRESENCE && strcmp(fields[i].name, name) == 0)
			return i;
	return -1;
}

static void complain_of_field(const char *name)
{
	char known[512] = "";

	for (int i = 0; i < SDNMON_FIELDS; i++) {
		if (i == SDNMON_PRESENCE)
			continue;
		strcat(known, *known ? ", " : "");
		strcat(known, fields[i].name);
	}
	complain("'%s' is no monitoring match field: %s", name, known);
}

static bool is_zero(const __u8 *bytes, unsigned int count)
{
	while (count > 0 && !bytes[count - 1])
		count--;
	return count == 0;
}

/* Make the mask with all bits of a field that can be set. */
static void whole_mask(const struct field *field, __u8 *mask)
{
	for (unsigned int i = 0; i < field->bytes; i++) {
		unsigned int above = 8 * (field->bytes - 1 - i); /* bits of later bytes */

		mask[i] = field->bits >= above + 8 ? 0xff
			  : field->bits <= above   ? 0
						   : (__u8)((1 << (field->bits - above)) - 1);
	}
}

/* Read FIELD or FIELD/MASK, and choose that field. Returns 0, or -1 after complain(). */
static int choose(char *item, struct fields_chosen *fields_chosen)
{
	bool *chosen = fields_chosen->chosen;
	__u8(*masks)[SDNMON_FIELD_BYTES] = fields_chosen->masks;
	char *mask = strchr(item, '/');
	int place;

	if (mask)
		*mask++ = '\0';
	place = find_field(item);
	if (place < 0) {
		complain_of_field(item);
		return -1;
	}
	if (chosen[place]) {
		complain("the field '%s' is named twice", item);
		return -1;
	}
	chosen[place] = true;
	whole_mask(&fields[place], masks[place]);
	if (mask && (read_mask(&fields[place], mask, masks[place]) ||
		     is_zero(masks[place], fields[place].bytes))) {
		complain("'%s' is no mask of %s, or has no bit set", mask, item);
		return -1;
	}
	return 0;
}

/* Is a field part of the key? Presence is in every key. */
static bool is_chosen(const struct fields_chosen *chosen, int field)
{
	return field == SDNMON_PRESENCE || chosen->chosen[field];
}

void fields_lay_out(const struct fields_chosen *chosen, struct sdnmon_config *config)
{
	__u8 at = 0, *mask; /* `at`: offset of the next field */

	memset(config->mask, 0, sizeof(config->mask));
	config->depth = SDNMON_TO_LINK;
	config->headers = 0;
	config->looks_into_tunnels = config->has_link_fields = 0;
	for (int i = 0; i < SDNMON_FIELDS; i++) {
		config->offset[i] = SDNMON_NOT_CHOSEN;
		if (!is_chosen(chosen, i))
			continue;
		config->offset[i] = at;
		mask = (__u8 *)config->mask + at;
		if (i == SDNMON_PRESENCE)
			whole_mask(&fields[i], mask);
		else
			memcpy(mask, chosen->masks[i], fields[i].bytes);
		at = (__u8)(at + fields[i].bytes);
		config->headers |= fields[i].header;
		config->has_link_fields |= i != SDNMON_PRESENCE && !fields[i].header;
		config->looks_into_tunnels |= fields[i].looks_into_tunnels;
		if (config->depth < fields[i].depth)
			config->depth = fields[i].depth;
	}
	config->words = (at + 3U) / 4;
}

/* Copy a text. Its length is checked here also where it was checked before. Returns 0, or -1
 * after complain(). */
static int copy_text(char *copy, const char *text)
{
	if (strlen(text) < MOST_TEXT) {
		strcpy(copy, text);
		return 0;
	}
	complain("more than %d characters", MOST_TEXT - 1);
	return -1;
}

int fields_parse(const char *text, struct sdnmon_config *config)
{
	struct fields_chosen chosen = { 0 };
	char copy[MOST_TEXT], *rest = copy, *item;

	if (copy_text(copy, text))
		return -1;
	while ((item = strsep(&rest, ",")))
		if (choose(item, &chosen))
			return -1;
	fields_lay_out(&chosen, config);
	return 0;
}

const char *fields_name(unsigned int field)
{
	return field < SDNMON_FIELDS && field != SDNMON_PRESENCE ? fields[field].name : NULL;
}

unsigned int fields_bytes(unsigned int field)
{
	return fields[field].bytes;
}

bool fields_have_mask(unsigned int field, const __u8 *mask)
{
	__u8 whole[SDNMON_FIELD_BYTES];

	whole_mask(&fields[field], whole);
	for (unsigned int i = 0; i < fields[field].bytes; i++)
		if (mask[i] & ~whole[i])
			return false;
	return !is_zero(mask, fields[field].bytes);
}

/* --- flows --- */

/* Read FIELD=VALUE to a key, and note in `given` that the field has a value. Returns 0, or -1 after
 * complain(). */
static int set_value(char *item, const struct sdnmon_config *config, struct sdnmon_key *key,
		     bool *given)
{
	char *text = strchr(item, '=');
	const struct field *field;
	__u8 value[SDNMON_FIELD_BYTES];
	int place;

	if (text)
		*text++ = '\0';
	place = find_field(item);
	if (place < 0 || config->offset[place] == SDNMON_NOT_CHOSEN) {
		complain("'%s' is no field of this table", item);
		return -1;
	}
	field = &fields[place];
	if (!text || given[place] || read_value(field, text, value)) {
		complain("%s: one value, such as %s=%s", item, item,
			 field->form == MAC    ? "02:00:00:00:00:01"
			 : field->form == IPV4 ? "10.0.0.1"
			 : field->form == IPV6 ? "fd00::1"
					       : "1");
		return -1;
	}
	given[place] = true;
	memcpy((__u8 *)key->words + config->offset[place], value, field->bytes);
	return 0;
}

/* Return the presence bits of the headers whose fields are given, and of the headers that these
 * imply. */
static __u16 headers_of(const bool *given)
{
	__u16 has = 0;

	for (int i = 0; i < SDNMON_FIELDS; i++)
		if (given[i])
			has |= fields[i].header;
	if (has & (SDNMON_HAS_IPV4 | SDNMON_HAS_IPV6 | SDNMON_HAS_PORTS | SDNMON_HAS_ICMP))
		has |= SDNMON_HAS_IP;
	if (has & SDNMON_HAS_TCP)
		has |= SDNMON_HAS_PORTS | SDNMON_HAS_IP;
	return has;
}

int fields_parse_flow(const char *text, const struct sdnmon_config *config, struct sdnmon_key *key)
{
	char copy[MOST_TEXT], *rest = copy, *item;
	bool given[SDNMON_FIELDS] = { false };
	__u16 has;

	if (copy_text(copy, text))
		return -1;
	memset(key, 0, sizeof(*key));
	while ((item = strsep(&rest, ",")))
		if (set_value(item, config, key, given))
			return -1;
	has = htons(headers_of(given) & config->headers);
	memcpy((__u8 *)key->words + config->offset[SDNMON_PRESENCE], &has, sizeof(has));
	for (__u32 i = 0; i < config->words; i++)
		key->words[i] &= config->mask[i];
	return 0;
}

/* Return the bits of SDNMON_PRESENCE in a key. */
static __u16 presence_of(const struct sdnmon_config *config, const struct sdnmon_key *key)
{
	__u16 has;

	memcpy(&has, (const __u8 *)key->words + config->offset[SDNMON_PRESENCE], sizeof(has));
	return ntohs(has);
}

bool fields_allow_key(const struct sdnmon_config *config, const struct sdnmon_key *key)
{
	const __u16 has = presence_of(config, key);

	for (__u32 i = 0; i < config->words; i++)
		if (key->words[i] & ~config->mask[i])
			return false;
	for (int i = 0; i < SDNMON_FIELDS; i++)
		if (config->offset[i] != SDNMON_NOT_CHOSEN && fields[i].header &&
		    !(fields[i].header & has) &&
		    !is_zero((const __u8 *)key->words + config->offset[i], fields[i].bytes))
			return false;
	return !(has & ~config->headers);
}

void fields_print(const struct sdnmon_config *config, FILE *out)
{
	const char *separator = "";

	fputc('[', out);
	for (int i = 0; i < SDNMON_FIELDS; i++) {
		if (config->offset[i] == SDNMON_NOT_CHOSEN)
			continue;
		fprintf(out,
			"%s{\"name\": \"%s\", \"offset\": %u, \"bytes\": %u, \"mask\": ", separator,
			fields[i].name, config->offset[i], fields[i].bytes);
		print_value(&fields[i], (const __u8 *)config->mask + config->offset[i], out);
		fputc('}', out);
		separator = ", ";
	}
	fputc(']', out);
}

void fields_print_flow(const struct sdnmon_config *config, const struct sdnmon_key *key, FILE *out)
{
	const __u16 has = presence_of(config, key);
	const char *separator = "";

	fputc('{', out);
	for (int i = 0; i < SDNMON_FIELDS; i++) {
		if (i == SDNMON_PRESENCE || config->offset[i] == SDNMON_NOT_CHOSEN ||
		    (fields[i].header && !(fields[i].header & has)))
			continue;
		fprintf(out, "%s\"%s\": ", separator, fields[i].name);
		print_value(&fields[i], (const __u8 *)key->words + config->offset[i], out);
		separator = ", ";
	}
	fputc('}', out);
}
