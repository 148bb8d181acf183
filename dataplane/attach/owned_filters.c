// SPDX-License-Identifier: Apache-2.0
/* Attaches two filters of clsact, and removes them: by the process itself, by its guard, or by
 * the next process. */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../common/report.h"
#include "clsact.h"
#include "guard.h"
#include "link.h"
#include "owned_filters.h"
#include "owners.h"

/* A handle has OWNED_MARK and all that is needed to clean up after a process that was killed. */
#define CLSACT_IS_OURS 0x200U
#define IS_SECOND 0x100U
#define SLOT_MASK 0xffU

#define PRIORITIES 64 /* so many are tried, from the slot's own on */
#define LOOPBACK_IFINDEX 1
#define DRAIN_MS 100 /* in that time packets leave the VNF */

/* State in memory that the guard shares. */
static struct {
	int slot; /* number of this process's slot (owners.h) */
	struct filter_place places[FILTERS];
	/* By place: this tool created clsact there, and removes it when it has no filters any
	 * more. It is set before clsact is created, so that the guard knows, whenever the
	 * process dies. */
	volatile bool clsact_is_ours[FILTERS];
} * state;

/* --- does it work? --- */

/* Try to attach a filter in a network namespace of its own, which ends with the process. Returns
 * 0 if that works. */
static int try_it(void)
{
	const struct filter filter = { LOOPBACK_IFINDEX, AT_EGRESS, 1, 1 };
	int program;

	if (unshare(CLONE_NEWNET))
		return 0; /* not known to fail: attaching will tell */
	program = load_probe();
	return program < 0 || clsact_create(LOOPBACK_IFINDEX) || filter_attach(&filter, program);
}

bool owned_filters_work(void)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0)
		_exit(try_it());
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return status == 0; /* also without a child: then attaching will tell */
}

/* --- removing: by the process, or by its guard --- */

/* Is this the filter `number` of this process, or of one that is dead? */
static bool is_to_go(const struct filter *filter, enum owned_filter number)
{
	int slot = (int)(filter->handle & SLOT_MASK);

	return number == (filter->handle & IS_SECOND ? FILTER_SECOND : FILTER_FIRST) &&
	       (slot == state->slot || owner_is_dead(slot));
}

/* Remove the filters `number` from an interface: that of this slot, and those of slots whose
 * process is dead. Returns whether there were any. */
static bool remove_from(int ifindex, enum owned_filter number)
{
	struct clsact clsact;
	bool any = false;

	if (clsact_read(ifindex, &clsact))
		return false;
	for (unsigned int i = 0; i < clsact.count; i++)
		if (is_to_go(&clsact.owned[i], number)) {
			filter_detach(&clsact.owned[i]);
			any = true;
		}
	return any;
}

/* Do the same at all places, under the lock. */
static bool remove_filters(enum owned_filter number)
{
	int lock = owner_lock();
	bool any = false;

	for (int i = 0; i < FILTERS; i++)
		any |= remove_from(state->places[i].ifindex, number);
	owner_unlock(lock);
	return any;
}

void owned_filter_detach(enum owned_filter filter)
{
	remove_filters(filter);
}

/* Remove all filters, and clsact where the tool created it and nothing uses it. Packets that have
 * passed the first filter get time to reach the second one. */
static void remove_all(void)
{
	const struct timespec drain = { .tv_nsec = DRAIN_MS * 1000000L };
	struct clsact clsact;
	int lock;

	if (remove_filters(FILTER_FIRST))
		nanosleep(&drain, NULL);
	remove_filters(FILTER_SECOND);
	lock = owner_lock();
	for (int i = 0; i < FILTERS; i++) {
		int ifindex = state->places[i].ifindex;

		if (state->clsact_is_ours[i] && clsact_read(ifindex, &clsact) == 0 &&
		    strcmp(clsact.qdisc, "clsact") == 0 && !clsact.count && !clsact.others)
			clsact_remove(ifindex);
	}
	owner_unlock(lock);
}

/* --- attaching --- */

/* Note that the tool created clsact at this interface. */
static void note_ours(int ifindex)
{
	for (int i = 0; i < FILTERS; i++)
		if (state->places[i].ifindex == ifindex)
			state->clsact_is_ours[i] = true;
}

/* Read clsact, and note whether a process of the tool created it, which its filters say. Returns
 * 0, or -errno. */
static int read_noting(int ifindex, struct clsact *clsact)
{
	int error = clsact_read(ifindex, clsact);

	for (unsigned int i = 0; !error && i < clsact->count; i++)
		if (clsact->owned[i].handle & CLSACT_IS_OURS)
			note_ours(ifindex);
	return error;
}

int owned_filters_begin(const struct filter_place places[FILTERS])
{
	struct clsact clsact;
	int slot_fd;

	state = mmap(NULL, sizeof(*state), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (state == MAP_FAILED) {
		state = NULL;
		complain("no memory for the guard: %s", strerror(errno));
		return -1;
	}
	memcpy(state->places, places, sizeof(state->places));
	state->slot = owner_take_slot(&slot_fd);
	if (state->slot < 0) {
		complain("%d instances of %s run here already", OWNER_SLOTS, tool_name);
		return -1;
	}
	if (guard_start(slot_fd, remove_all))
		return -1;
	/* Filters of a dead process may say that clsact is ours: note that before they go. */
	for (int i = 0; i < FILTERS; i++)
		read_noting(places[i].ifindex, &clsact);
	/* This process has attached nothing yet: filters in its slot are those of a dead one. */
	remove_filters(FILTER_FIRST);
	remove_filters(FILTER_SECOND);
	return 0;
}

/* Create clsact unless it is there. Returns 0, or -errno; -EEXIST: another qdisc has its place. */
static int ensure_clsact(int ifindex)
{
	struct clsact clsact;
	int error = read_noting(ifindex, &clsact);

	if (error)
		return error;
	if (*clsact.qdisc)
		return strcmp(clsact.qdisc, "clsact") == 0 ? 0 : -EEXIST;
	note_ours(ifindex);
	return clsact_create(ifindex);
}

/* Attach a filter at the slot's own priority, from 1 on: 0 would let the kernel choose. Where a
 * filter of another kind has that priority, take the next one. Returns 0, or -errno. */
static int attach_early(enum owned_filter number, int program)
{
	const struct filter_place *place = &state->places[number];
	struct filter filter = { place->ifindex, place->direction, 1 + (__u32)state->slot,
				 OWNED_MARK | (state->clsact_is_ours[number] ? CLSACT_IS_OURS : 0) |
					 (number == FILTER_SECOND ? IS_SECOND : 0) |
					 (__u32)state->slot };
	int error = -EEXIST;

	for (int i = 0; i < PRIORITIES && (error == -EEXIST || error == -EINVAL); i++) {
		error = filter_attach(&filter, program);
		filter.priority++;
	}
	return error;
}

int owned_filter_attach(enum owned_filter filter, int program)
{
	int lock = owner_lock();
	int error = ensure_clsact(state->places[filter].ifindex);

	if (!error)
		error = attach_early(filter, program);
	owner_unlock(lock);
	return error;
}

void owned_filters_end(void)
{
	if (!state)
		return;
	remove_all(); /* the guard may have been killed */
	guard_stop();
	munmap(state, sizeof(*state));
	state = NULL;
}
