/* SPDX-License-Identifier: Apache-2.0 */
/* BPF filters of clsact. They outlive the process that attached them: they stay until they are detached, or
 * the interface goes. A handle says whose a filter is. Functions return 0, or -errno. */
#pragma once

#include <linux/types.h>

#include "hook.h"

/* --- filters of a tool --- */

/* A program at ingress of an interface: a tool's only one there, at a priority that no other tool has. It
 * takes the place of that which a process left that was killed. Not by tcx, each of whose links waits for
 * a grace period of RCU: some 10 ms an interface. */
int tool_filter_attach(int ifindex, __u32 priority, int program);

/* clsact itself stays: others may use it. */
void tool_filter_detach(int ifindex, __u32 priority);

/* --- filters of a process (owned_filters.h) --- */

struct filter {
	int ifindex;
	enum direction direction;
	__u32 priority; /* the lowest one sees packets first */
	__u32 handle;
};

/* Filters of processes have this in the upper 22 bits of their handles. */
#define OWNED_MARK 0x50505400U
#define OWNED_MARK_MASK 0xfffffc00U
#define OWNED_FILTERS 64

/* What is at an interface's clsact. */
struct clsact {
	char qdisc[16]; /* the kind of what is in its place; "": nothing */
	unsigned int count;
	struct filter owned[OWNED_FILTERS];
	unsigned int others; /* filters of others */
};

int clsact_read(int ifindex, struct clsact *clsact);

/* -EEXIST: there is one, or a qdisc `ingress`. */
int clsact_create(int ifindex);
void clsact_remove(int ifindex);

/* -EEXIST, -EINVAL: another filter, or one of another kind, is there. */
int filter_attach(const struct filter *filter, int program);
void filter_detach(const struct filter *filter);
