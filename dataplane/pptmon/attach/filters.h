/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters of clsact that pptmon made, known by their handles.
 *
 * A handle says who made the filter (its slot, owners.h), which program it is, and whether a pptmon
 * created the clsact qdisc: all that is needed to clean up after a process that was killed.
 */
#pragma once

#include <linux/types.h>

#include "attach.h"

struct filter {
	__u32 handle; /* 0: none */
	__u32 priority;
	int slot;
	enum program program;
	enum direction direction;
	bool qdisc_is_ours;
};

#define MAX_FILTERS 64

/* What is on an interface's clsact. */
struct filters {
	int count; /* of pptmon's */
	struct filter ours[MAX_FILTERS];
	int foreign; /* filters of others */
};

__u32 filter_handle(int slot, enum program program, bool qdisc_is_ours);

/* List them. 0, or -errno. */
int filters_list(int netlink, int ifindex, struct filters *filters);

void filter_remove(int ifindex, const struct filter *filter);
