/* SPDX-License-Identifier: Apache-2.0 */
/* Attaching programs on both sides of the VNF, by either of two hooks, in an order that leaves no
 * packet with a header. */
#pragma once

#include <stdbool.h>

#include "../../common/interface.h"

enum direction {
	AT_INGRESS,
	AT_EGRESS,
};

enum program {
	PROGRAM_ENTER,
	PROGRAM_LEAVE,
	PROGRAMS,
};

/* Where a program goes. */
struct place {
	const struct interface *interface;
	enum direction direction;
};

struct hook {
	const char *name;
	/* Does this kernel have it? Needs the permission to load programs. */
	bool (*works)(void);
	/* Before anything is attached to these places; removes what dead processes left there. 0,
	 * or -1 after complain(). May be NULL. */
	int (*prepare)(const struct place places[PROGRAMS]);
	/* 0, or -1 after complain(). */
	int (*attach)(enum program program, const struct place *place, int program_fd);
	void (*detach)(enum program program);
	/* After both are detached. May be NULL. */
	void (*finish)(void);
};

extern const struct hook tcx_hook;
extern const struct hook clsact_hook;

/* Load a program that does nothing. Descriptor, or -errno. */
int load_probe(void);

/* Before anything is loaded. 0, or -1 after complain(). */
int attach_prepare(const struct hook *hook, const struct interface *ingress,
		   const struct interface *egress);

/* 0, or -1 after complain(). */
int attach_both(int enter_fd, int leave_fd);

/* Detach what is attached. `inside` tells whether packets seem to be in the VNF still; NULL: not
 * known. */
void detach_both(bool (*inside)(void));

/* Clean up; the guard ends. */
void attach_finish(void);
