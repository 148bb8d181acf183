/* SPDX-License-Identifier: Apache-2.0 */
/* BPF filters of clsact. They outlive the process that attached them: they stay until they are
 * detached, or the interface goes. The handle of a filter says whose it is. Functions return 0,
 * or -errno. */
#pragma once

#include <linux/types.h>

#include "hook.h"

/* --- filters of a tool --- */

/* Attach a tool's only program at this side of an interface, at a priority that no other tool has.
 * It replaces the program of a process that was killed. tcx is not used: each of its links waits
 * for a grace period of RCU, some 10 ms an interface. */
int tool_filter_attach(int ifindex, enum direction direction, __u32 priority, int program);

/* Detach that program. clsact itself stays, because others may use it. */
void tool_filter_detach(int ifindex, enum direction direction, __u32 priority);

/* --- filters of a process (owned_filters.h) --- */

/* A filter of clsact, by all that tells it from others. */
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

/* What is attached to an interface's clsact. */
struct clsact {
	char qdisc[16]; /* the kind of qdisc in the place of clsact; "": none */
	unsigned int count; /* of `owned` */
	struct filter owned[OWNED_FILTERS]; /* filters with OWNED_MARK, those that have room here */
	unsigned int others; /* number of all other filters */
};

/* Find out what is attached to an interface. Without clsact, only `qdisc` is filled in. -EINTR: it
 * changed again and again meanwhile. */
int clsact_read(int ifindex, struct clsact *clsact);

/* Create clsact. -EEXIST: it is there already, or a qdisc `ingress` is. */
int clsact_create(int ifindex);

/* Remove clsact with all of its filters. */
void clsact_remove(int ifindex);

/* Attach a program as this filter. -EEXIST, -EINVAL: another filter, or one of another kind, has
 * its place. */
int filter_attach(const struct filter *filter, int program);
void filter_detach(const struct filter *filter);
