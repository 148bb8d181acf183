/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules and counters of the firewall on an interface.
 *
 * They belong to the program that is attached there, and live as long as it does: no process holds
 * them, and whoever may use BPF finds them by the interface.
 */
#pragma once

#include <stdbool.h>

#include "../../dataplane/common/interface.h"
#include "entries.h"

enum table_map {
	TABLE_FLOWS4, /* from here on: rules */
	TABLE_FLOWS6,
	TABLE_SOURCES4,
	TABLE_SOURCES6,
	TABLE_COUNTERS, /* from here on: others */
	TABLE_LEASE,
	TABLE_FILTER,
	TABLE_MAPS,
};

struct table {
	int maps[TABLE_MAPS]; /* descriptors */
};

/* Attach the program, without rules, in the place of an earlier one of the firewall if there is
 * one. Returns 0, or -1 after complain(). */
int table_attach(const struct interface *interface, unsigned int max_rules, bool fail_closed);

/* Detach the program, with all rules. Harmless when there is none. Returns 0, or -1 after
 * complain(). */
int table_detach(const struct interface *interface);

/* Open the maps of the attached program. Returns 0, or -1 after complain(). */
int table_find(const struct interface *interface, struct table *table);

/* Close these maps. */
void table_close(struct table *table);
