// SPDX-License-Identifier: Apache-2.0
/* Reads words of the command line that say where packets are seen. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "../../../dataplane/common/options.h"
#include "places.h"

#define MOST_SPI 0xffffff
#define MOST_SI 255

/* The functions below read the value of a part KEY=VALUE to the port. A wrong value ends the
 * tool. */

static void read_address(struct sfcmon_port *port, const char *key, const char *value)
{
	if (inet_pton(AF_INET, value, &port->address) != 1)
		refuse("%s=%s: an IPv4 address", key, value);
}

static void read_path(struct sfcmon_port *port, const char *key, const char *value)
{
	char *spi = strdupa(value), *si = strchr(spi, '/');
	long numbers[2] = { 0 };

	if (si)
		*si++ = '\0';
	if (!si || parse_integer(spi, 0, MOST_SPI, &numbers[0]) ||
	    parse_integer(si, 1, MOST_SI, &numbers[1]))
		refuse("%s=%s: an SPI and an SI, 1/255", key, value);
	port->path = (__u32)(numbers[0] << 8 | numbers[1]);
}

static void read_protocol(struct sfcmon_port *port, const char *key, const char *value)
{
	static const char *const names[] = { "icmp", "tcp", "udp", NULL };
	static const __u8 numbers[] = { IPPROTO_ICMP, IPPROTO_TCP, IPPROTO_UDP };
	int place = find_word(names, value, strlen(value));

	if (place < 0)
		refuse("%s=%s: icmp, tcp or udp", key, value);
	port->protocol = numbers[place];
}

/* `key` is source or destination. */
static void read_network(struct sfcmon_port *port, const char *key, const char *value)
{
	bool is_source = key[0] == 's';
	__be32 *address = is_source ? &port->source : &port->destination;
	__be32 *mask = is_source ? &port->source_mask : &port->destination_mask;
	char *text = strdupa(value), *slash = strchr(text, '/');
	long bits = 32;

	if (slash)
		*slash++ = '\0';
	if (inet_pton(AF_INET, text, address) != 1 || (slash && parse_integer(slash, 0, 32, &bits)))
		refuse("%s=%s: an IPv4 address or network", key, value);
	*mask = bits ? htonl(~0U << (32 - bits)) : 0;
	if (*address & ~*mask)
		refuse("%s=%s: no bits behind the prefix", key, value);
}

/* `key` is source-port or destination-port. */
static void read_port(struct sfcmon_port *port, const char *key, const char *value)
{
	long number;

	if (parse_integer(value, 1, 65535, &number))
		refuse("%s=%s: a port, 1 to 65535", key, value);
	if (key[0] == 's')
		port->source_port = htons((__u16)number);
	else
		port->destination_port = htons((__u16)number);
}

static const char *const kinds[] = { "nsh", "underlay", "rule", NULL }; /* as their numbers */

static const struct {
	const char *key;
	__u32 kind; /* kind of the port that can have it */
	void (*read)(struct sfcmon_port *port, const char *key, const char *value);
} parts[] = {
	{ "address", SFCMON_PORT_UNDERLAY, read_address },
	{ "path", SFCMON_PORT_RULE, read_path },
	{ "protocol", SFCMON_PORT_RULE, read_protocol },
	{ "source", SFCMON_PORT_RULE, read_network },
	{ "destination", SFCMON_PORT_RULE, read_network },
	{ "source-port", SFCMON_PORT_RULE, read_port },
	{ "destination-port", SFCMON_PORT_RULE, read_port },
};

/* Read KEY=VALUE, a part of a port whose kind is known. A wrong part ends the tool. */
static void read_part(struct sfcmon_port *port, char *part)
{
	char *value = strchr(part, '=');

	if (value)
		*value++ = '\0';
	for (size_t i = 0; value && i < sizeof(parts) / sizeof(*parts); i++) {
		if (parts[i].kind == port->kind && strcmp(parts[i].key, part) == 0) {
			parts[i].read(port, part, value);
			return;
		}
	}
	refuse("'%s' is no part of a port of the kind %s", part, kinds[port->kind]);
}

void read_place(const char *word, struct place *place)
{
	char *rest = strdup(word), *colon = rest ? strchr(rest, ':') : NULL, *part;
	int kind = -1;

	memset(place, 0, sizeof(*place));
	if (colon) {
		*colon = '\0';
		place->interface = rest;
		rest = colon + 1;
		part = strsep(&rest, ",");
		kind = find_word(kinds, part, strlen(part));
	}
	if (kind < 0)
		refuse("'%s': a port is NAME:nsh, NAME:underlay,address=A or NAME:rule,path=SPI/SI",
		       word);
	place->port.kind = (__u32)kind;
	while ((part = strsep(&rest, ",")))
		read_part(&place->port, part);
	if (kind == SFCMON_PORT_UNDERLAY && !place->port.address)
		refuse("'%s': address=A, of the node, is missing", word);
	if (kind == SFCMON_PORT_RULE && !place->port.path)
		refuse("'%s': path=SPI/SI is missing", word);
}
