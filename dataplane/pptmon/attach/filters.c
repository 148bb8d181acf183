// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <stdio.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "../../common/netlink.h"
#include "filters.h"

#define MARK 0x50505400U /* "PPT" */
#define MARK_MASK 0xfffffc00U
#define QDISC_IS_OURS 0x200U
#define IS_LEAVE 0x100U
#define SLOT_MASK 0xffU

#define ATTEMPTS 10 /* at a dump of what others change meanwhile */

static const char *const program_names[PROGRAMS] = {
	[PROGRAM_ENTER] = "enter:",
	[PROGRAM_LEAVE] = "leave:",
};

struct listing {
	struct filters *filters;
	enum direction direction;
};

__u32 filter_handle(int slot, enum program program, bool qdisc_is_ours)
{
	return MARK | (qdisc_is_ours ? QDISC_IS_OURS : 0) |
	       (program == PROGRAM_LEAVE ? IS_LEAVE : 0) | (__u32)slot;
}

/* libbpf names a filter after its program: "enter:[17]". */
static bool is_ours(const struct nlmsghdr *answer, __u32 handle)
{
	const struct rtattr *name = netlink_find_in(
		netlink_find(answer, sizeof(struct tcmsg), TCA_OPTIONS), TCA_BPF_NAME);
	const char *expected = program_names[handle & IS_LEAVE ? PROGRAM_LEAVE : PROGRAM_ENTER];

	return (handle & MARK_MASK) == MARK && name && RTA_PAYLOAD(name) > strlen(expected) &&
	       memcmp(RTA_DATA(name), expected, strlen(expected)) == 0 &&
	       netlink_is(netlink_find(answer, sizeof(struct tcmsg), TCA_KIND), "bpf");
}

static void visit(const struct nlmsghdr *answer, void *context)
{
	const struct tcmsg *message = NLMSG_DATA(answer);
	struct listing *listing = context;
	struct filters *filters = listing->filters;
	__u32 handle = message->tcm_handle;

	if (!is_ours(answer, handle)) {
		/* Each priority is announced by an entry without a handle. */
		filters->foreign += handle != 0;
		return;
	}
	if (filters->count == MAX_FILTERS)
		return;
	filters->ours[filters->count++] = (struct filter){
		.handle = handle,
		.priority = TC_H_MAJ(message->tcm_info) >> 16,
		.slot = (int)(handle & SLOT_MASK),
		.program = handle & IS_LEAVE ? PROGRAM_LEAVE : PROGRAM_ENTER,
		.direction = listing->direction,
		.qdisc_is_ours = handle & QDISC_IS_OURS,
	};
}

static int list_once(int netlink, int ifindex, struct filters *filters)
{
	memset(filters, 0, sizeof(*filters));
	for (int direction = AT_INGRESS; direction <= AT_EGRESS; direction++) {
		struct listing listing = { filters, (enum direction)direction };
		union netlink_request request;
		struct tcmsg *message =
			netlink_begin(&request, RTM_GETTFILTER, NLM_F_DUMP, sizeof(struct tcmsg));
		int error;

		message->tcm_ifindex = ifindex;
		message->tcm_parent = TC_H_MAKE(
			TC_H_CLSACT, direction == AT_INGRESS ? TC_H_MIN_INGRESS : TC_H_MIN_EGRESS);
		error = netlink_ask(netlink, &request, visit, &listing);
		if (error)
			return error;
	}
	return 0;
}

int filters_list(int netlink, int ifindex, struct filters *filters)
{
	int error = -EINTR;

	for (int i = 0; i < ATTEMPTS && error == -EINTR; i++)
		error = list_once(netlink, ifindex, filters);
	return error;
}

void filter_remove(int ifindex, const struct filter *filter)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex,
		    .attach_point =
			    filter->direction == AT_INGRESS ? BPF_TC_INGRESS : BPF_TC_EGRESS);
	LIBBPF_OPTS(bpf_tc_opts, options, .handle = filter->handle, .priority = filter->priority);

	bpf_tc_detach(&hook, &options);
}
