// SPDX-License-Identifier: Apache-2.0
#include <time.h>

#include "attach.h"

#define DRAIN_STEP_MS 10
#define DRAIN_LEAST_MS 100
#define DRAIN_MOST_MS 1000 /* packets that the VNF dropped never leave */

static const struct hook *hook;
static struct place places[PROGRAMS];
static bool attached[PROGRAMS];

int attach_prepare(const struct hook *chosen, const struct interface *ingress,
		   const struct interface *egress)
{
	hook = chosen;
	places[PROGRAM_ENTER] = (struct place){ ingress, AT_INGRESS };
	places[PROGRAM_LEAVE] = (struct place){ egress, AT_EGRESS };
	return hook->prepare ? hook->prepare(places) : 0;
}

static int attach(enum program program, int program_fd)
{
	if (hook->attach(program, &places[program], program_fd))
		return -1;
	attached[program] = true;
	return 0;
}

int attach_both(int enter_fd, int leave_fd)
{
	return attach(PROGRAM_LEAVE, leave_fd) || attach(PROGRAM_ENTER, enter_fd) ? -1 : 0;
}

static void drain(bool (*inside)(void))
{
	const struct timespec step = { .tv_nsec = DRAIN_STEP_MS * 1000000L };
	int waited_ms = 0;

	do {
		nanosleep(&step, NULL);
		waited_ms += DRAIN_STEP_MS;
	} while (waited_ms < DRAIN_LEAST_MS || (waited_ms < DRAIN_MOST_MS && inside && inside()));
}

void detach_both(bool (*inside)(void))
{
	if (attached[PROGRAM_ENTER]) {
		hook->detach(PROGRAM_ENTER);
		drain(inside);
	}
	if (attached[PROGRAM_LEAVE])
		hook->detach(PROGRAM_LEAVE);
	attached[PROGRAM_ENTER] = attached[PROGRAM_LEAVE] = false;
}

void attach_finish(void)
{
	if (hook && hook->finish)
		hook->finish();
	hook = NULL;
}
