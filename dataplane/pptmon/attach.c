// SPDX-License-Identifier: Apache-2.0
/* Attaches PPTMon's programs on both sides of the VNF, by tcx or clsact. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "../attach/link.h"
#include "../attach/owned_filters.h"
#include "../common/report.h"
#include "attach.h"

#define DRAIN_STEP_MS 10
#define DRAIN_LEAST_MS 100
#define DRAIN_MOST_MS 1000 /* limit for packets that never leave, because the VNF dropped them */

#define ENTER FILTER_FIRST
#define LEAVE FILTER_SECOND

static enum hook hook;
static struct {
	const struct interface *interface;
	bool attached;
	int link; /* of tcx */
} sides[FILTERS];

int attach_prepare(enum hook chosen, const struct interface *ingress,
		   const struct interface *egress)
{
	const struct filter_place places[FILTERS] = {
		[ENTER] = { ingress->index, AT_INGRESS },
		[LEAVE] = { egress->index, AT_EGRESS },
	};

	hook = chosen;
	sides[ENTER].interface = ingress;
	sides[LEAVE].interface = egress;
	return hook == HOOK_CLSACT ? owned_filters_begin(places) : 0;
}

/* Attach a program by a link of tcx. Returns 0, or -errno. */
static int attach_by_tcx(enum owned_filter program, int program_fd)
{
	sides[program].link =
		tcx_link(sides[program].interface->index, program == ENTER ? AT_INGRESS : AT_EGRESS,
			 program_fd, TCX_LAST);
	return sides[program].link < 0 ? sides[program].link : 0;
}

/* Attach a program by the hook. Returns 0, or -1 after complain(). */
static int attach(enum owned_filter program, int program_fd)
{
	const char *name = sides[program].interface->name;
	int error = hook == HOOK_TCX ? attach_by_tcx(program, program_fd)
				     : owned_filter_attach(program, program_fd);

	if (error == -EEXIST && hook == HOOK_CLSACT)
		complain("cannot attach to %s by clsact: its qdisc `ingress` is in the way (tc "
			 "qdisc del dev %s ingress)",
			 name, name);
	else if (error)
		complain("cannot attach to %s by %s: %s", name, hook_names[hook], strerror(-error));
	sides[program].attached = !error;
	return error ? -1 : 0;
}

int attach_both(int enter_fd, int leave_fd)
{
	/* In this order, so that no header enters that nobody would remove. */
	return attach(LEAVE, leave_fd) || attach(ENTER, enter_fd) ? -1 : 0;
}

/* Wait until packets have left the VNF, so that none keeps a header: for DRAIN_LEAST_MS, and while
 * `inside` says that some have not, up to DRAIN_MOST_MS. */
static void drain(bool (*inside)(void))
{
	const struct timespec step = { .tv_nsec = DRAIN_STEP_MS * 1000000L };
	int waited_ms = 0;

	do {
		nanosleep(&step, NULL);
		waited_ms += DRAIN_STEP_MS;
	} while (waited_ms < DRAIN_LEAST_MS || (waited_ms < DRAIN_MOST_MS && inside && inside()));
}

static void detach(enum owned_filter program)
{
	if (hook == HOOK_TCX)
		link_detach(sides[program].link);
	else
		owned_filter_detach(program);
	sides[program].attached = false;
}

void detach_both(bool (*inside)(void))
{
	if (sides[ENTER].attached) {
		detach(ENTER);
		drain(inside);
	}
	if (sides[LEAVE].attached)
		detach(LEAVE);
}

void attach_finish(void)
{
	owned_filters_end();
}
