// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "../common/options.h"
#include "../common/report.h"
#include "rules.h"
#include "tables.h"
#include "words.h"

static const char *const kinds[] = { "none", "endpoint", "nsh", "plain", "underlay", NULL };
static const char *const actions[] = { "nsh", "plain", "gpe", "end", "end-gpe", NULL };
static const char *const answers[] = { "no", "yes", NULL };

static int read_node(struct words *words, struct tables *tables)
{
	return take_mac(words, "node", tables->mac) ||
	       (offers(words, "address") && take_address(words, "address", &tables->address)) ||
	       no_more(words);
}

static int read_tap(struct words *words, struct tables *tables)
{
	long on;

	if (take_name(words, "tap", tables->tap_near, sizeof(tables->tap_near)) ||
	    take_name(words, NULL, tables->tap_far, sizeof(tables->tap_far)) ||
	    take_choice(words, "on", answers, &on))
		return -1;
	tables->tapped = on;
	return no_more(words);
}

static int read_trace(struct words *words, struct tables *tables)
{
	long sampling;

	if (take_number(words, "trace", 0, 1 << 20, &sampling))
		return -1;
	if (sampling & (sampling - 1))
		return object(words, "'%ld' is not a power of 2", sampling);
	tables->trace = (__u32)sampling;
	return no_more(words);
}

static int read_port(struct words *words, struct tables *tables)
{
	struct port_line line = { 0 };
	long number, kind, mtu, xdp = 0;

	if (take_number(words, "port", 1, SFF_PORTS - 1, &number) ||
	    take_name(words, "interface", line.interface, sizeof(line.interface)) ||
	    take_choice(words, "kind", kinds, &kind) || take_number(words, "mtu", 68, 9000, &mtu) ||
	    (offers(words, "xdp") && take_choice(words, "xdp", answers, &xdp)) || no_more(words))
		return -1;
	if (*tables->ports[number].interface)
		return object(words, "port %ld is there already", number);
	line.port.kind = (__u8)kind;
	line.port.mtu = (__u16)mtu;
	line.port.flags = xdp ? SFF_TAKES_XDP : 0;
	tables->ports[number] = line;
	return 0;
}

static int take_known_port(struct words *words, const struct tables *tables, const char *name,
			   __u8 *port)
{
	long number;

	if (take_number(words, name, 1, SFF_PORTS - 1, &number))
		return -1;
	if (!*tables->ports[number].interface)
		return object(words, "there is no port %ld above", number);
	*port = (__u8)number;
	return 0;
}

static int take_path(struct words *words, __u32 *path)
{
	long spi, si;

	if (take_number(words, "path", 0, 0xffffff, &spi) || take_number(words, NULL, 1, 255, &si))
		return -1;
	*path = (__u32)spi << 8 | (__u32)si;
	return 0;
}

/* Packets that return from an SF behind the proxy continue on their path. */
static int continue_from(struct words *words, struct tables *tables, const struct hop_line *line)
{
	struct sff_port *back = &tables->ports[line->hop.back].port;
	__u32 spi = line->path >> 8;

	if (back->kind != SFF_PORT_PLAIN)
		return object(words, "port %u is not of kind plain", line->hop.back);
	if (back->si && (back->spi != spi || back->si != line->hop.back_si))
		back->flags |= SFF_SHARED;
	back->spi = spi;
	back->si = line->hop.back_si;
	return 0;
}

static int read_hop(struct words *words, struct tables *tables)
{
	struct hop_line *line = grow(&tables->hops);
	struct sff_hop *hop = &line->hop;
	long action;

	if (take_path(words, &line->path) ||
	    (offers(words, "from") && take_known_port(words, tables, "from", &hop->from)) ||
	    take_choice(words, "to", actions, &action) ||
	    take_known_port(words, tables, "port", &hop->port))
		return -1;
	hop->action = (__u8)action;
	if (action != SFF_END && take_mac(words, "mac", hop->dst_mac))
		return -1;
	if ((action == SFF_TO_GPE || action == SFF_END_GPE) &&
	    take_address(words, "address", &hop->dst_ip))
		return -1;
	if (action == SFF_TO_PLAIN) {
		if (take_known_port(words, tables, "back", &hop->back))
			return -1;
		hop->back_si = (__u8)(line->path - 1);
		if (continue_from(words, tables, line))
			return -1;
	}
	if (tables->hops.count >= SFF_HOPS)
		return object(words, "more than %d hops", SFF_HOPS - 1);
	for (unsigned int i = 0; i + 1 < tables->hops.count; i++)
		if (tables->hops.items[i].path == line->path)
			return object(words, "SPI %u SI %u is there already", line->path >> 8,
				      line->path & 0xff);
	return no_more(words);
}

static int read_station(struct words *words, struct tables *tables)
{
	struct station_line *line = grow(&tables->stations);

	line->station.action = SFF_END;
	if (take_mac(words, "station", line->mac) ||
	    take_known_port(words, tables, "port", &line->station.port))
		return -1;
	if (offers(words, "mac")) {
		line->station.action = SFF_END_GPE;
		if (take_mac(words, "mac", line->station.dst_mac) ||
		    take_address(words, "address", &line->station.dst_ip))
			return -1;
	}
	return no_more(words);
}

static int read_route(struct words *words, struct tables *tables)
{
	struct route_line *line = grow(&tables->routes);
	__u8 port = 0;

	if (take_address(words, "route", &line->address) ||
	    take_known_port(words, tables, "port", &port) || take_mac(words, "mac", line->mac))
		return -1;
	line->port = port;
	return no_more(words);
}

/* What a rule says, before port ranges become masks. */
static int read_rule(struct words *words, struct tables *tables)
{
	struct rule_text rule = { 0 };

	if (take_known_port(words, tables, "rule", &rule.port) || take_path(words, &rule.path))
		return -1;
	while (!ended(words))
		if (rule_take(words, &rule))
			return -1;
	return rule_add(words, &rule, tables);
}

static const struct {
	const char *name;
	int (*read)(struct words *words, struct tables *tables);
} lines[] = {
	{ "node", read_node },	 { "tap", read_tap },	{ "trace", read_trace },
	{ "port", read_port },	 { "path", read_hop },	{ "station", read_station },
	{ "route", read_route }, { "rule", read_rule },
};

static int read_line(struct words *words, struct tables *tables)
{
	if (ended(words))
		return 0;
	for (unsigned int i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		if (offers(words, lines[i].name))
			return lines[i].read(words, tables);
	return object(words,
		      "a line starts with node, tap, trace, port, path, station, route, or rule");
}

int tables_read(const char *path, struct tables *tables)
{
	struct words words = { .file = path };
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	int error = 0;

	memset(tables, 0, sizeof(*tables));
	if (!file) {
		complain("cannot read %s: %s", path, strerror(errno));
		return -1;
	}
	while (!error && getline(&line, &room, file) >= 0) {
		words_begin(&words, line);
		error = read_line(&words, tables);
	}
	free(line);
	fclose(file);
	return error;
}

void tables_free(struct tables *tables)
{
	free(tables->hops.items);
	free(tables->stations.items);
	free(tables->routes.items);
	free(tables->rules.items);
}
