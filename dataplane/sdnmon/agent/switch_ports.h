/* SPDX-License-Identifier: Apache-2.0 */
/* The ports at which packets are counted: those that the options name, or those that the switch says it
 * has. A port's name is that of its interface. */
#pragma once

#include <net/if.h>
#include <stdbool.h>

#include "../ports.h"
#include "../state.h"
#include "openflow.h"

struct switch_port {
	__u32 number; /* of OpenFlow */
	char name[IF_NAMESIZE];
	int interface; /* that had its name when ports were attached; 0: none */
	int refused; /* interface of which was complained; -1: that there is none; 0: of none */
};

struct port_list {
	struct switch_port *ports;
	unsigned int count, room;
};

struct switch_ports {
	bool fixed; /* by options */
	bool known; /* the switch has said which ones */
	bool changed; /* since they were attached */
	enum hook how;
	struct port_list now;
};

/* A port of the options. */
void switch_ports_fix(struct switch_ports *ports, const char *interface);

/* Read a message of a PORT_DESC reply. All of its messages have all ports; they are collected in
 * `described`, which begins empty, until the last one. */
void switch_ports_described(struct switch_ports *ports, struct port_list *described,
			    const __u8 *message, size_t bytes, bool last);

/* Read a PORT_STATUS message, which may come between the messages of such a reply. */
void switch_ports_status(struct switch_ports *ports, struct port_list *described,
			 const __u8 *message, size_t bytes);

/* Find out whether interfaces came or went under the names of ports. */
void switch_ports_look(struct switch_ports *ports);

/* Attach ports that came, and detach those that went. The caller has the lock and an open state. -1 if
 * one of the options' ports cannot be attached. */
int switch_ports_attach(struct switch_ports *ports, const struct state *state);
