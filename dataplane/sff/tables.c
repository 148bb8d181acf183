// SPDX-License-Identifier: Apache-2.0
/* Reads the tables' file of sfc-sff, line by line. The read_...() functions read a line into the
 * tables. They, and those that take words of a line, return 0, or -1 after complain(). */
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

/* Words for enum sff_port_kind, without the first. */
static const char *const kinds[] = { "endpoint", "nsh", "plain", "underlay", NULL };
/* Words for enum sff_action. */
static const char *const actions[] = { "nsh", "plain", "gpe", "end", "end-gpe", NULL };
static const char *const answers[] = { "no", "yes", NULL };
static const char *const fates[] = { "drop", "bypass", NULL }; /* of unparsed frames */

static int read_node(struct words *words, struct tables *tables)
{
	if (tables->has_node)
		return refuse_line(words, "there is a node already");
	tables->has_node = true;
	return take_mac(words, "node", tables->mac) ||
	       (offers(words, "address") && take_address(words, "address", &tables->address)) ||
	       no_more(words);
}

static int read_tap(struct words *words, struct tables *tables)
{
	long on;

	if (*tables->tap_near)
		return refuse_line(words, "there is a tap already");
	if (take_interface_name(words, "tap", tables->tap_near) ||
	    next_interface_name(words, "the tap's other end", tables->tap_far) ||
	    take_choice(words, "on", answers, &on))
		return -1;
	if (strcmp(tables->tap_near, tables->tap_far) == 0)
		return refuse_line(words, "the tap's ends are both '%s'", tables->tap_near);
	tables->tapped = on;
	return no_more(words);
}

static int read_trace(struct words *words, struct tables *tables)
{
	long sampling;

	if (take_number(words, "trace", 0, 1 << 20, &sampling))
		return -1;
	if (sampling & (sampling - 1))
		return refuse_line(words, "'%ld' is not a power of 2", sampling);
	tables->trace = (__u32)sampling;
	return no_more(words);
}

static int read_port(struct words *words, struct tables *tables)
{
	struct port_line line = { 0 };
	long number, kind, mtu, xdp = 0, generic = 0, bypass = 0; /* kind: place in `kinds` */

	if (take_number(words, "port", 1, SFF_PORTS - 1, &number) ||
	    take_interface_name(words, "interface", line.interface) ||
	    take_choice(words, "kind", kinds, &kind) || take_number(words, "mtu", 68, 9000, &mtu) ||
	    (offers(words, "xdp") && take_choice(words, "xdp", answers, &xdp)) ||
	    (offers(words, "generic") && take_choice(words, "generic", answers, &generic)) ||
	    (offers(words, "unparsed") && take_choice(words, "unparsed", fates, &bypass)) ||
	    no_more(words))
		return -1;
	if (bypass && kind + SFF_PORT_ENDPOINT != SFF_PORT_ENDPOINT)
		return refuse_line(words, "only ports of kind endpoint take 'unparsed bypass'");
	if (*tables->ports[number].interface)
		return refuse_line(words, "port %ld is there already", number);
	for (int other = 0; other < SFF_PORTS; other++)
		if (strcmp(tables->ports[other].interface, line.interface) == 0)
			return refuse_line(words, "port %d has the interface %s already", other,
					   line.interface);
	line.port.kind = (__u8)(kind + SFF_PORT_ENDPOINT);
	line.port.mtu = (__u16)mtu;
	line.generic = generic;
	line.port.flags = (xdp ? SFF_TAKES_XDP : 0) | (bypass ? SFF_BYPASS_UNPARSED : 0);
	tables->ports[number] = line;
	return 0;
}

/* Refuse the line if the port is of another kind. */
static int require_kind(struct words *words, const struct tables *tables, long number,
			enum sff_port_kind kind)
{
	enum sff_port_kind has = tables->ports[number].port.kind;

	if (has == kind)
		return 0;
	return refuse_line(words, "port %ld is of kind %s; this takes one of kind %s", number,
			   kinds[has - SFF_PORT_ENDPOINT], kinds[kind - SFF_PORT_ENDPOINT]);
}

/* Take the number of a port of this kind (SFF_PORT_NONE: of any kind), which a line above
 * describes. */
static int take_known_port(struct words *words, const struct tables *tables, const char *name,
			   enum sff_port_kind kind, __u8 *port)
{
	long number;

	if (take_number(words, name, 1, SFF_PORTS - 1, &number))
		return -1;
	if (!*tables->ports[number].interface)
		return refuse_line(words, "there is no port %ld above", number);
	if (kind != SFF_PORT_NONE && require_kind(words, tables, number, kind))
		return -1;
	*port = (__u8)number;
	return 0;
}

/* Take `path SPI SI`. */
static int take_path(struct words *words, __u32 *path)
{
	long spi, si;

	if (take_number(words, "path", 0, 0xffffff, &spi) || next_number(words, "SI", 1, 255, &si))
		return -1;
	*path = (__u32)spi << 8 | (__u32)si;
	return 0;
}

/* Note at the port `back` of a path how its packets continue when they come back from the SF. If
 * packets of several paths come back by this port, it is shared. */
static void continue_from(struct tables *tables, const struct hop_line *line)
{
	struct sff_port *back = &tables->ports[line->hop.back].port;
	__u32 spi = line->path >> 8;

	if (back->flags & SFF_RETURNS && (back->spi != spi || back->si != line->hop.back_si))
		back->flags |= SFF_SHARED;
	back->flags |= SFF_RETURNS;
	back->spi = spi;
	back->si = line->hop.back_si;
}

/* Kind of the port by which packets leave, by enum sff_action. An NSH may leave by any port that
 * takes it. */
static const enum sff_port_kind leaves_by[] = {
	[SFF_TO_NSH] = SFF_PORT_NONE,	   [SFF_TO_PLAIN] = SFF_PORT_PLAIN,
	[SFF_TO_GPE] = SFF_PORT_UNDERLAY,  [SFF_END] = SFF_PORT_ENDPOINT,
	[SFF_END_GPE] = SFF_PORT_UNDERLAY,
};

static int read_hop(struct words *words, struct tables *tables)
{
	struct hop_line *line = grow(&tables->hops);
	struct sff_hop *hop = &line->hop;
	long action;

	if (take_path(words, &line->path) ||
	    (offers(words, "from") &&
	     take_known_port(words, tables, "from", SFF_PORT_NONE, &hop->from)) ||
	    take_choice(words, "to", actions, &action) ||
	    take_known_port(words, tables, "port", leaves_by[action], &hop->port))
		return -1;
	hop->action = (__u8)action; /* its word has the same place in `actions` */
	if (action != SFF_END && take_mac(words, "mac", hop->dst_mac))
		return -1;
	if ((action == SFF_TO_GPE || action == SFF_END_GPE) &&
	    take_address(words, "address", &hop->dst_ip))
		return -1;
	if (action == SFF_TO_PLAIN) {
		if (take_known_port(words, tables, "back", SFF_PORT_PLAIN, &hop->back))
			return -1;
		hop->back_si = (__u8)(line->path - 1);
		continue_from(tables, line);
	}
	if (tables->hops.count > SFF_PATH_LINES)
		return refuse_line(words, "more than %d paths", SFF_PATH_LINES);
	for (unsigned int i = 0; i + 1 < tables->hops.count; i++) /* all but this line */
		if (tables->hops.items[i].path == line->path)
			return refuse_line(words, "SPI %u SI %u is there already", line->path >> 8,
					   line->path & 0xff);
	return no_more(words);
}

static int read_station(struct words *words, struct tables *tables)
{
	struct station_line *line = grow(&tables->stations);

	line->station.action = SFF_END;
	if (take_mac(words, "station", line->mac) ||
	    take_known_port(words, tables, "port", SFF_PORT_NONE, &line->station.port))
		return -1;
	if (tables->stations.count > SFF_STATIONS)
		return refuse_line(words, "more than %d stations", SFF_STATIONS);
	for (unsigned int i = 0; i + 1 < tables->stations.count; i++)
		if (memcmp(tables->stations.items[i].mac, line->mac, sizeof(line->mac)) == 0)
			return refuse_line(words, "this station is there already");
	if (offers(words, "mac")) { /* it is at another node */
		line->station.action = SFF_END_GPE;
		if (take_mac(words, "mac", line->station.dst_mac) ||
		    take_address(words, "address", &line->station.dst_ip))
			return -1;
	}
	if (require_kind(words, tables, line->station.port, leaves_by[line->station.action]))
		return -1;
	return no_more(words);
}

static int read_route(struct words *words, struct tables *tables)
{
	struct route_line *line = grow(&tables->routes);
	__u8 port = 0;

	if (take_address(words, "route", &line->address) ||
	    take_known_port(words, tables, "port", SFF_PORT_UNDERLAY, &port))
		return -1;
	if (tables->routes.count > SFF_ROUTES)
		return refuse_line(words, "more than %d routes", SFF_ROUTES);
	for (unsigned int i = 0; i + 1 < tables->routes.count; i++)
		if (tables->routes.items[i].address == line->address)
			return refuse_line(words, "this route is there already");
	line->port = port;
	return no_more(words);
}

/* Read a rule. It is added at the end of its line: its conditions, in any order, decide only
 * together how many masked tuples it becomes, and under which masks. */
static int read_rule(struct words *words, struct tables *tables)
{
	struct rule_text rule = { 0 };

	if (take_known_port(words, tables, "rule", SFF_PORT_ENDPOINT, &rule.port) ||
	    take_path(words, &rule.path))
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

/* Read a line of any kind. An empty one says nothing. */
static int read_line(struct words *words, struct tables *tables)
{
	if (ended(words))
		return 0;
	for (unsigned int i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		if (offers(words, lines[i].name))
			return lines[i].read(words, tables);
	return refuse_line(
		words, "a line starts with node, tap, trace, port, path, station, route, or rule");
}

/* Check what only the whole file shows. Returns 0, or -1 after complain(). */
static int check_all(const char *path, const struct tables *tables)
{
	if (!tables->has_node) {
		complain("%s: a line 'node MAC' is missing", path);
		return -1;
	}
	for (int number = 0; number < SFF_PORTS; number++) {
		const struct port_line *line = &tables->ports[number];

		if (line->port.kind == SFF_PORT_UNDERLAY && !tables->address) {
			complain("%s: the line 'node' requires an address, because port %d is of "
				 "kind underlay",
				 path, number);
			return -1;
		}
		if (*line->interface && (strcmp(line->interface, tables->tap_near) == 0 ||
					 strcmp(line->interface, tables->tap_far) == 0)) {
			complain("%s: port %d has the interface %s, which is the tap's", path,
				 number, line->interface);
			return -1;
		}
	}
	return 0;
}

static int read_lines(FILE *file, const char *path, struct tables *tables)
{
	struct words words = { .file = path };
	char *line = NULL;
	size_t line_room = 0;
	ssize_t bytes;
	int error = 0;

	errno = 0;
	while (!error && (bytes = getline(&line, &line_room, file)) >= 0)
		error = words_begin(&words, line, (size_t)bytes) || read_line(&words, tables);
	if (!error && !feof(file)) {
		complain("cannot read %s: %s", path, strerror(errno));
		error = -1;
	}
	free(line);
	return error;
}

int tables_read(const char *path, unsigned int most_rules, struct tables *tables)
{
	FILE *file = fopen(path, "re");
	int error;

	memset(tables, 0, sizeof(*tables));
	tables->most_rules = most_rules;
	if (!file) {
		complain("cannot read %s: %s", path, strerror(errno));
		return -1;
	}
	error = read_lines(file, path, tables) || check_all(path, tables);
	fclose(file);
	return error ? -1 : 0;
}

void tables_free(struct tables *tables)
{
	free(tables->hops.items);
	free(tables->stations.items);
	free(tables->routes.items);
	free(tables->rules.items);
}
