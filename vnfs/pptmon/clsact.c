// SPDX-License-Identifier: Apache-2.0
/* clsact: filters stay when their process dies, so that a guard removes them (guard.h). */
#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "clsact.h"
#include "filters.h"
#include "guard.h"
#include "netlink.h"
#include "owners.h"
#include "qdisc.h"
#include "report.h"

#define PRIORITIES 64 /* tried, from the slot's own on */
#define LOOPBACK_IFINDEX 1

static struct clsact_state *state;

/* --- does it work? --- */

static int attach_filter(const struct place *place, __u32 handle, __u32 priority, int program_fd)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = place->ifindex,
		    .attach_point =
			    place->direction == AT_INGRESS ? BPF_TC_INGRESS : BPF_TC_EGRESS);
	LIBBPF_OPTS(bpf_tc_opts, options, .prog_fd = program_fd, .handle = handle,
		    .priority = priority);

	return bpf_tc_attach(&hook, &options);
}

static int make_qdisc(int ifindex)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = BPF_TC_INGRESS);

	return bpf_tc_hook_create(&hook);
}

/* In a network namespace of its own, which goes with the process. */
static int try_it(void)
{
	const struct place place = { .ifindex = LOOPBACK_IFINDEX, .direction = AT_EGRESS };
	int program;

	if (unshare(CLONE_NEWNET))
		return 0; /* not known to fail: attaching will tell */
	program = load_probe();
	return program < 0 || make_qdisc(LOOPBACK_IFINDEX) || attach_filter(&place, 1, 1, program);
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

static bool remove_from(int netlink, int ifindex, enum program program, int slot)
{
	struct filters filters;
	bool any = false;

	if (filters_list(netlink, ifindex, &filters))
		return false;
	for (int i = 0; i < filters.count; i++) {
		const struct filter *filter = &filters.ours[i];

		if (filter->program != program ||
		    (filter->slot != slot && !owner_is_dead(filter->slot)))
			continue;
		filter_remove(ifindex, filter);
		any = true;
	}
	return any;
}

bool clsact_remove(const struct clsact_state *of, enum program program)
{
	int netlink = netlink_open();
	int lock = owner_lock();
	bool any = false;

	for (int i = 0; netlink >= 0 && i < PROGRAMS; i++)
		any |= remove_from(netlink, of->places[i].ifindex, program, of->slot);
	owner_unlock(lock);
	close(netlink);
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

void clsact_remove_qdiscs(const struct clsact_state *of)
{
	int netlink = netlink_open();
	int lock = owner_lock();

	for (int i = 0; netlink >= 0 && i < PROGRAMS; i++)
		if (of->qdisc_is_ours[i])
			remove_qdisc(netlink, of->places[i].ifindex);
	owner_unlock(lock);
	close(netlink);
}

/* --- attaching --- */

static void say_ours(int ifindex, bool ours)
{
	for (int i = 0; i < PROGRAMS; i++)
		if (state->places[i].ifindex == ifindex)
			state->qdisc_is_ours[i] |= ours;
}

/* The qdisc of an interface goes at the end when any pptmon made it. */
static bool any_says_ours(const struct filters *filters)
{
	for (int i = 0; i < filters->count; i++)
		if (filters->ours[i].qdisc_is_ours)
			return true;
	return false;
}

/* Nobody but the dead had filters in our slot. */
static void bury(int netlink, int ifindex)
{
	struct filters filters;

	if (filters_list(netlink, ifindex, &filters))
		return;
	say_ours(ifindex, any_says_ours(&filters));
	for (int program = PROGRAM_ENTER; program < PROGRAMS; program++)
		remove_from(netlink, ifindex, (enum program)program, state->slot);
}

static int prepare(const struct place places[PROGRAMS])
{
	int netlink, lock;

	state = mmap(NULL, sizeof(*state), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (state == MAP_FAILED) {
		state = NULL;
		complain("no memory for the guard: %s", strerror(errno));
		return -1;
	}
	memcpy(state->places, places, sizeof(state->places));
	state->slot = owner_take_slot(&state->slot_fd);
	if (state->slot < 0) {
		complain("there are %d pptmons here already", OWNER_SLOTS);
		return -1;
	}
	if (guard_start(state))
		return -1;
	netlink = netlink_open();
	lock = owner_lock();
	for (int i = 0; netlink >= 0 && i < PROGRAMS; i++)
		bury(netlink, places[i].ifindex);
	owner_unlock(lock);
	close(netlink);
	return 0;
}

/* Whether clsact is there, or is made now. 0, or -errno. */
static int ensure_qdisc(int netlink, const struct place *place)
{
	struct filters filters;
	struct qdisc qdisc;
	int error = qdisc_at(netlink, place->ifindex, TC_H_CLSACT, &qdisc);

	if (error)
		return error;
	if (!*qdisc.kind) {
		say_ours(place->ifindex, true);
		return make_qdisc(place->ifindex);
	}
	if (strcmp(qdisc.kind, "clsact") != 0)
		return -EEXIST;
	error = filters_list(netlink, place->ifindex, &filters);
	if (!error)
		say_ours(place->ifindex, any_says_ours(&filters));
	return error;
}

/* Early: a verdict of a filter before ours would hide packets from us. A priority may be taken by a
 * filter of another kind. */
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
	int netlink = netlink_open();
	int lock = owner_lock();
	int error = netlink < 0 ? netlink : ensure_qdisc(netlink, place);

	if (error == -EEXIST)
		complain("cannot attach to %s by clsact: its qdisc `ingress` is in the way (tc "
			 "qdisc del dev %s ingress)",
			 place->interface, place->interface);
	else if (!error)
		error = attach_early(program, place, program_fd);
	if (error && error != -EEXIST)
		complain("cannot attach to %s by clsact: %s", place->interface, strerror(-error));
	owner_unlock(lock);
	close(netlink);
	return error ? -1 : 0;
}

static void detach(enum program program)
{
	clsact_remove(state, program);
}

static void finish(void)
{
	if (!state)
		return;
	clsact_remove_qdiscs(state);
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
