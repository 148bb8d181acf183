// SPDX-License-Identifier: Apache-2.0
/* Keeps the list of a switch's ports, and attaches to them. */
#include <stdlib.h>

#include "../../common/report.h"
#include "switch_ports.h"

#define MULTIPART_HEADER 16
#define REASON_AT 8 /* offset in PORT_STATUS */
#define PORT_STATUS_HEADER 16
#define PORT_NAME_AT 16 /* offset in struct ofp_port, in all versions */
#define PORT_LEAST 40
#define PORT_BYTES_1_3 64 /* later versions say how long a port is */
#define PORT_BYTES_AT 4

#define MOST_PORTS 4096
#define NONE_THERE (-1) /* `refused` of a port without an interface */

/* --- lists --- */

/* Return the port with this number of OpenFlow; NULL if it is not on the list. */
static struct switch_port *find(const struct port_list *list, __u32 number)
{
	for (unsigned int i = 0; i < list->count; i++)
		if (list->ports[i].number == number)
			return &list->ports[i];
	return NULL;
}

/* Append a port that has only a number. Without memory the process ends. */
static struct switch_port *append(struct port_list *list, __u32 number)
{
	struct switch_port *grown;

	if (list->count == list->room) {
		grown = realloc(list->ports, (2 * list->room + 16) * sizeof(*grown));
		if (!grown) {
			complain("no memory for the list of ports");
			exit(1);
		}
		list->ports = grown;
		list->room = 2 * list->room + 16;
	}
	grown = &list->ports[list->count++];
	*grown = (struct switch_port){ .number = number };
	return grown;
}

/* Has the list all the ports that it may have? The first time, this complains. */
static bool is_full(const struct port_list *list)
{
	static bool is_said;

	if (list->count < MOST_PORTS)
		return false;
	if (!is_said)
		complain("the switch has more than %d ports: others are not monitored", MOST_PORTS);
	is_said = true;
	return true;
}

/* Put a described port on the list, or change it there. The local port is left out: what arrives
 * at its interface was sent by the switch. */
static void put(struct port_list *list, const __u8 *described)
{
	__u32 number = get32(described);
	struct switch_port *port = find(list, number);
	char name[IF_NAMESIZE];

	if (number == OFPP_LOCAL || (!port && is_full(list)))
		return;
	if (!port)
		port = append(list, number);
	memcpy(name, described + PORT_NAME_AT, sizeof(name));
	name[sizeof(name) - 1] = '\0';
	if (strcmp(port->name, name) != 0)
		port->refused = 0;
	memcpy(port->name, name, sizeof(name));
}

static void forget(struct port_list *list, __u32 number)
{
	struct switch_port *port = find(list, number);

	if (port)
		*port = list->ports[--list->count]; /* the order does not matter */
}

void switch_ports_fix(struct switch_ports *ports, const char *interface)
{
	/* Its number is only its place in the list: the switch has not said one. */
	struct switch_port *port = append(&ports->now, ports->now.count);

	ports->fixed = ports->known = ports->changed = true;
	strncpy(port->name, interface, sizeof(port->name) - 1);
}

/* --- what the switch says --- */

/* Return the length of a described port; 0 if it is not whole. */
static size_t port_bytes(__u8 version, const __u8 *described, size_t left)
{
	size_t bytes = PORT_BYTES_1_3;

	if (version > OPENFLOW_1_3)
		bytes = left < PORT_LEAST ? 0 : get16(described + PORT_BYTES_AT);
	return bytes >= PORT_LEAST && bytes <= left ? bytes : 0;
}

/* Use the described ports from now on. Ports that were complained about are not complained about
 * again. */
static void replace(struct switch_ports *ports, struct port_list *described)
{
	struct port_list before = ports->now;

	for (unsigned int i = 0; i < before.count; i++) {
		struct switch_port *port = find(described, before.ports[i].number);

		if (port && strcmp(port->name, before.ports[i].name) == 0)
			port->refused = before.ports[i].refused;
	}
	ports->now = *described;
	ports->known = ports->changed = true;
	*described = before; /* its memory is used again */
	described->count = 0;
}

void switch_ports_described(struct switch_ports *ports, struct port_list *described,
			    const __u8 *message, size_t bytes, bool last)
{
	size_t at = MULTIPART_HEADER, port;

	while (at < bytes && (port = port_bytes(message[0], message + at, bytes - at))) {
		put(described, message + at);
		at += port;
	}
	if (last)
		replace(ports, described);
}

void switch_ports_status(struct switch_ports *ports, struct port_list *described,
			 const __u8 *message, size_t bytes)
{
	const __u8 *port = message + PORT_STATUS_HEADER;
	/* A reply that is being collected gets the change, too. */
	struct port_list *const lists[] = { &ports->now, described };

	if (ports->fixed || bytes < PORT_STATUS_HEADER ||
	    !port_bytes(message[0], port, bytes - PORT_STATUS_HEADER))
		return;
	for (int i = 0; i < 2; i++)
		if (message[REASON_AT] == OFPPR_DELETE)
			forget(lists[i], get32(port));
		else
			put(lists[i], port);
	ports->changed = true;
}

/* --- attaching --- */

void switch_ports_look(struct switch_ports *ports)
{
	for (unsigned int i = 0; i < ports->now.count; i++) {
		const struct switch_port *port = &ports->now.ports[i];

		ports->changed |= (int)if_nametoindex(port->name) != port->interface;
	}
}

/* Attach to a port, if it is not attached yet. Returns the number of its interface, or 0 if its
 * packets are not counted. An interface that was refused is not tried again, so that the same
 * complaint comes only once. */
static int attach(struct switch_port *port, enum hook how, const struct state *state)
{
	int interface = (int)if_nametoindex(port->name);
	int refused = port->refused;

	port->interface = interface;
	port->refused = 0;
	if (!interface) {
		if (refused != NONE_THERE)
			complain("the port %s is not monitored: no interface has this name",
				 port->name);
		port->refused = NONE_THERE;
		return 0;
	}
	if (ports_have(state->ports, interface))
		return interface;
	if (refused != interface &&
	    ports_attach(state->ports, port->name, &state->program, how) == 0)
		return interface;
	port->refused = interface;
	return 0;
}

void switch_ports_retry(struct switch_ports *ports)
{
	for (unsigned int i = 0; ports->fixed && i < ports->now.count; i++)
		ports->now.ports[i].refused = 0;
}

int switch_ports_attach(struct switch_ports *ports, const struct state *state)
{
	struct port_list *list = &ports->now;
	int *attached = calloc(list->count + 1, sizeof(*attached)); /* never of 0 bytes */
	unsigned int count = 0;

	if (!attached) {
		complain("no memory for %u ports", list->count);
		return -1;
	}
	for (unsigned int i = 0; i < list->count; i++) {
		int interface = attach(&list->ports[i], ports->how, state);

		if (interface)
			attached[count++] = interface;
	}
	/* Until the switch has said its ports, those of before are kept as the best guess. */
	if (ports->known)
		ports_keep(state->ports, attached, count);
	free(attached);
	ports->changed = false;
	return ports->fixed && count < list->count ? -1 : 0;
}
