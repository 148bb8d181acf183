// SPDX-License-Identifier: Apache-2.0
/* clsact: filters outlive their process, so that a guard removes them (guard.h). */
#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "../../common/netlink.h"
#include "../../common/report.h"
#include "../qdisc.h"
#include "filters.h"
#include "guard.h"
#include "attach.h"
#include "owners.h"

#define PRIORITIES 64 /* tried, from the slot's own on */
#define LOOPBACK_IFINDEX 1
#define DRAIN_MS 100 /* packets leave the VNF meanwhile */

/* In memory that the guard shares. */
static struct {
	int slot; /* owners.h */
	struct place places[PROGRAMS];
	/* By place: clsact is removed when it has no filters any more. Set before it is created, so
	 * that the guard knows whenever pptmon dies. */
	volatile bool qdisc_is_ours[PROGRAMS];
} * state;

/* One process at a time changes filters. */
struct session {
	int netlink; /* or -errno */
	int lock;
};

static struct session begin_session(void)
{
	return (struct session){ .netlink = netlink_open(), .lock = owner_lock() };
}

static void end_session(struct session session)
{
	owner_unlock(session.lock);
	close(session.netlink);
}

/* --- does it work? --- */

static int attach_filter(const struct place *place, __u32 handle, __u32 priority, int program_fd)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = place->interface->index,
		    .attach_point =
			    place->direction == AT_INGRESS ? BPF_TC_INGRESS : BPF_TC_EGRESS);
	LIBBPF_OPTS(bpf_tc_opts, options, .prog_fd = program_fd, .handle = handle,
		    .priority = priority);

	return bpf_tc_attach(&hook, &options);
}

static int create_qdisc(int ifindex)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = BPF_TC_INGRESS);

	return bpf_tc_hook_create(&hook);
}

/* In a network namespace of its own, which ends with the process. */
static int try_it(void)
{
	const struct interface loopback = { .index = LOOPBACK_IFINDEX };
	const struct place place = { &loopback, AT_EGRESS };
	int program;

	if (unshare(CLONE_NEWNET))
		return 0; /* not known to fail: attaching will tell */
	program = load_probe();
	return program < 0 || create_qdisc(LOOPBACK_IFINDEX) ||
	       attach_filter(&place, 1, 1, program);
}

static bool works(void)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0)
		_exit(try_it());
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return status == 0;
}

/* --- removing: by pptmon, or by its guard --- */

/* Remove filters of a program: of this slot, and of slots whose process is dead. */
static bool remove_from(int netlink, int ifindex, enum program program)
{
	struct filters filters;
	bool any = false;

	if (filters_list(netlink, ifindex, &filters))
		return false;
	for (int i = 0; i < filters.count; i++) {
		const struct filter *filter = &filters.ours[i];

		if (filter->program != program ||
		    (filter->slot != state->slot && !owner_is_dead(filter->slot)))
			continue;
		filter_remove(ifindex, filter);
		any = true;
	}
	return any;
}

static bool remove_program(enum program program)
{
	struct session session = begin_session();
	bool any = false;

	for (int i = 0; session.netlink >= 0 && i < PROGRAMS; i++)
		any |= remove_from(session.netlink, state->places[i].interface->index, program);
	end_session(session);
	return any;
}

static void remove_qdisc(int netlink, int ifindex)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex,
		    .attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS);
	struct filters filters;
	struct qdisc qdisc;

	if (qdisc_at(netlink, ifindex, TC_H_CLSACT, &qdisc) || strcmp(qdisc.kind, "clsact") != 0 ||
	    filters_list(netlink, ifindex, &filters) || filters.count || filters.foreign)
		return;
	bpf_tc_hook_destroy(&hook);
}

/* Those that a pptmon created and that have no filters any more. */
static void remove_qdiscs(void)
{
	struct session session = begin_session();

	for (int i = 0; session.netlink >= 0 && i < PROGRAMS; i++)
		if (state->qdisc_is_ours[i])
			remove_qdisc(session.netlink, state->places[i].interface->index);
	end_session(session);
}

static void remove_all(void)
{
	const struct timespec drain = { .tv_nsec = DRAIN_MS * 1000000L };

	if (remove_program(PROGRAM_ENTER))
		nanosleep(&drain, NULL);
	remove_program(PROGRAM_LEAVE);
	remove_qdiscs();
}

/* --- attaching --- */

static void note_ours(int ifindex, bool ours)
{
	for (int i = 0; i < PROGRAMS; i++)
		if (state->places[i].interface->index == ifindex)
			state->qdisc_is_ours[i] |= ours;
}

/* Did any pptmon create the qdisc that these filters are on? */
static bool any_says_ours(const struct filters *filters)
{
	for (int i = 0; i < filters->count; i++)
		if (filters->ours[i].qdisc_is_ours)
			return true;
	return false;
}

/* Filters in our slot are those of a dead process. */
static void remove_leftovers(int netlink, int ifindex)
{
	struct filters filters;

	if (filters_list(netlink, ifindex, &filters))
		return;
	note_ours(ifindex, any_says_ours(&filters));
	for (int program = PROGRAM_ENTER; program < PROGRAMS; program++)
		remove_from(netlink, ifindex, (enum program)program);
}

static int prepare(const struct place places[PROGRAMS])
{
	struct session session;
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
		complain("%d instances of pptmon run here already", OWNER_SLOTS);
		return -1;
	}
	if (guard_start(slot_fd, remove_all))
		return -1;
	session = begin_session();
	for (int i = 0; session.netlink >= 0 && i < PROGRAMS; i++)
		remove_leftovers(session.netlink, places[i].interface->index);
	end_session(session);
	return 0;
}

/* Create clsact unless it is there. 0, or -errno. */
static int ensure_qdisc(int netlink, const struct place *place)
{
	struct filters filters;
	struct qdisc qdisc;
	int error = qdisc_at(netlink, place->interface->index, TC_H_CLSACT, &qdisc);

	if (error)
		return error;
	if (!*qdisc.kind) {
		note_ours(place->interface->index, true);
		return create_qdisc(place->interface->index);
	}
	if (strcmp(qdisc.kind, "clsact") != 0)
		return -EEXIST;
	error = filters_list(netlink, place->interface->index, &filters);
	if (!error)
		note_ours(place->interface->index, any_says_ours(&filters));
	return error;
}

/* In front of others: a filter before ours could take packets away from it. A filter of another
 * kind may have the priority already. */
static int attach_early(enum program program, const struct place *place, int program_fd)
{
	__u32 handle = filter_handle(state->slot, program, state->qdisc_is_ours[program]);
	int error = -EEXIST;

	for (__u32 i = 0; i < PRIORITIES && (error == -EEXIST || error == -EINVAL); i++)
		error = attach_filter(place, handle, 1 + (__u32)state->slot + i, program_fd);
	return error;
}

static int attach(enum program program, const struct place *place, int program_fd)
{
	struct session session = begin_session();
	int error = session.netlink < 0 ? session.netlink : ensure_qdisc(session.netlink, place);

	if (error == -EEXIST)
		complain("cannot attach to %s by clsact: its qdisc `ingress` is in the way (tc "
			 "qdisc del dev %s ingress)",
			 place->interface->name, place->interface->name);
	else if (!error)
		error = attach_early(program, place, program_fd);
	if (error && error != -EEXIST)
		complain("cannot attach to %s by clsact: %s", place->interface->name,
			 strerror(-error));
	end_session(session);
	return error ? -1 : 0;
}

static void detach(enum program program)
{
	remove_program(program);
}

static void finish(void)
{
	if (!state)
		return;
	remove_qdiscs();
	guard_stop();
	munmap(state, sizeof(*state));
	state = NULL;
}

const struct hook clsact_hook = {
	.name = "clsact",
	.works = works,
	.prepare = prepare,
	.attach = attach,
	.detach = detach,
	.finish = finish,
};
