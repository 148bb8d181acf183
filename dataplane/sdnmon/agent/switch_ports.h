/* SPDX-License-Identifier: Apache-2.0 */
/* The ports at which packets are counted: those that the options name, or those that the switch
 * says it has. The name of a port is that of its interface. */
#pragma once

#include <net/if.h>
#include <stdbool.h>

#include "../ports.h"
#include "../state.h"
#include "openflow.h"

/* A port of the switch, or an interface that the options name. */
struct switch_port {
	__u32 number; /* of OpenFlow */
	char name[IF_NAMESIZE];
	int interface; /* number of the one with its name at the last attaching; 0: none */
	int refused; /* interface that was complained about; -1: its absence was; 0: nothing was */
};

struct port_list {
	struct switch_port *ports;
	unsigned int count, room;
};

/* The ports of a switch. Messages of the switch change the list; switch_ports_attach() then
 * attaches. */
struct switch_ports {
	bool fixed; /* the options name the ports */
	bool known; /* the switch has said which ports it has */
	bool changed; /* ports changed since they were attached */
	enum hook how; /* how to attach */
	struct port_list now; /* the ports that are to be monitored */
};

/* Add a port that the options name. */
void switch_ports_fix(struct switch_ports *ports, const char *interface);

/* Read a message of a PORT_DESC reply. The messages of a reply together have all ports. They are
 * collected in `described`, which is empty at first, until the last one has come. */
void switch_ports_described(struct switch_ports *ports, struct port_list *described,
			    const __u8 *message, size_t bytes, bool last);

/* Read a PORT_STATUS message, which may come between the messages of such a reply. */
void switch_ports_status(struct switch_ports *ports, struct port_list *described,
			 const __u8 *message, size_t bytes);

/* Find out whether interfaces with the names of ports came or went; then `changed` is set. */
void switch_ports_look(struct switch_ports *ports);

/* Let the next switch_ports_attach() try the options' ports that were refused, and complain about
 * them, again. */
void switch_ports_retry(struct switch_ports *ports);

/* Attach to ports that came, and detach from those that went. The caller has the lock and an open
 * state. Returns 0; -1 if there is no memory, or if one of the options' ports cannot be attached,
 * about which it complains once. */
int switch_ports_attach(struct switch_ports *ports, const struct state *state);
