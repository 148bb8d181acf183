/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two filters of clsact that end with their process, as links do: for kernels without tcx.
 *
 * A guard removes them if the process is killed (guard.h). If both are killed, the next process of
 * the tool that comes to the interface does: handles say which slot a filter is of, and a slot
 * whether its process lives (owners.h). clsact itself goes if a process of the tool created it, and
 * it has no filters.
 */
#pragma once

#include <stdbool.h>

#include "hook.h"

struct filter_place {
	int ifindex;
	enum direction direction;
};

/* The two filters, in the order in which they are removed. In between, packets have time to go
 * from the place of the first one to that of the second. */
enum owned_filter {
	FILTER_FIRST,
	FILTER_SECOND,
	FILTERS,
};

/* Does this kernel have clsact and BPF filters? Needs the permission to load programs. */
bool owned_filters_work(void);

/* Start the guard, and remove what dead processes left at these places. Call it before anything
 * is attached. Returns 0, or -1 after complain(). */
int owned_filters_begin(const struct filter_place places[FILTERS]);

/* Attach a filter in front of those of others, which could take packets away from it. Returns 0,
 * or -errno; -EEXIST: a qdisc `ingress` is in the place of clsact. */
int owned_filter_attach(enum owned_filter filter, int program);

/* Detach this filter of the process, and the same one of processes that are dead. */
void owned_filter_detach(enum owned_filter filter);

/* Remove what is left, and end the guard. Harmless if nothing began. */
void owned_filters_end(void);
