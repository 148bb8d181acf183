// SPDX-License-Identifier: Apache-2.0
/* Attaches, detaches and lists BPF filters of clsact, by libbpf and rtnetlink. */
#include <errno.h>
#include <linux/pkt_sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "../common/netlink.h"
#include "clsact.h"

#define TOOL_HANDLE 0x53464300U /* "SFC": filters of others do not have it */

#define ATTEMPTS 10 /* to dump what others change meanwhile */

#define POINT(direction) ((direction) == AT_INGRESS ? BPF_TC_INGRESS : BPF_TC_EGRESS)

/* `flags`: BPF_TC_F_REPLACE, or 0: fail if the filter is there already. */
static int attach(const struct filter *filter, int program, __u32 flags)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = filter->ifindex,
		    .attach_point = POINT(filter->direction));
	LIBBPF_OPTS(bpf_tc_opts, options, .prog_fd = program, .handle = filter->handle,
		    .priority = filter->priority, .flags = flags);

	return bpf_tc_attach(&hook, &options);
}

int filter_attach(const struct filter *filter, int program)
{
	return attach(filter, program, 0);
}

void filter_detach(const struct filter *filter)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = filter->ifindex,
		    .attach_point = POINT(filter->direction));
	LIBBPF_OPTS(bpf_tc_opts, options, .handle = filter->handle, .priority = filter->priority);

	bpf_tc_detach(&hook, &options);
}

int tool_filter_attach(int ifindex, enum direction direction, __u32 priority, int program)
{
	const struct filter filter = { ifindex, direction, priority, TOOL_HANDLE };
	int error = clsact_create(ifindex);

	/* -EEXIST: clsact is there already. */
	return error && error != -EEXIST ? error : attach(&filter, program, BPF_TC_F_REPLACE);
}

void tool_filter_detach(int ifindex, enum direction direction, __u32 priority)
{
	filter_detach(&(struct filter){ ifindex, direction, priority, TOOL_HANDLE });
}

int clsact_create(int ifindex)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = BPF_TC_INGRESS);

	return bpf_tc_hook_create(&hook);
}

void clsact_remove(int ifindex)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex,
		    .attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS);

	bpf_tc_hook_destroy(&hook);
}

/* --- what is there --- */

/* What is asked for, and where the answers go. */
struct listing {
	struct clsact *clsact;
	int ifindex;
	enum direction direction;
};

/* Note the kind of a qdisc that is in the place of clsact; ignore others. */
static void visit_qdisc(const struct nlmsghdr *answer, void *context)
{
	const struct tcmsg *message = NLMSG_DATA(answer);
	const struct rtattr *kind = netlink_find(answer, sizeof(*message), TCA_KIND);
	const struct listing *listing = context;

	if (kind && message->tcm_ifindex == listing->ifindex && message->tcm_parent == TC_H_CLSACT)
		snprintf(listing->clsact->qdisc, sizeof(listing->clsact->qdisc), "%s",
			 (const char *)RTA_DATA(kind));
}

/* Note a filter that a process of SFCPerf owns, and count those of others. */
static void visit_filter(const struct nlmsghdr *answer, void *context)
{
	const struct tcmsg *message = NLMSG_DATA(answer);
	const struct listing *listing = context;
	struct clsact *clsact = listing->clsact;
	__u32 handle = message->tcm_handle;

	if ((handle & OWNED_MARK_MASK) != OWNED_MARK ||
	    !netlink_is(netlink_find(answer, sizeof(*message), TCA_KIND), "bpf"))
		/* The kernel also lists each priority itself, with handle 0; that is no filter. */
		clsact->others += handle != 0;
	else if (clsact->count < OWNED_FILTERS)
		clsact->owned[clsact->count++] =
			(struct filter){ listing->ifindex, listing->direction,
					 TC_H_MAJ(message->tcm_info) >> 16, handle };
}

/* List the qdiscs of all interfaces. The answer to a request for a single one would also go to
 * those who watch for changes (`tc monitor`). */
static int dump_qdiscs(int netlink, struct listing *listing)
{
	union netlink_request request;

	netlink_begin(&request, RTM_GETQDISC, NLM_F_DUMP, sizeof(struct tcmsg));
	return netlink_ask(netlink, &request, visit_qdisc, listing);
}

/* List the filters of one direction of the interface. */
static int dump_filters(int netlink, struct listing *listing, enum direction direction)
{
	union netlink_request request;
	struct tcmsg *message =
		netlink_begin(&request, RTM_GETTFILTER, NLM_F_DUMP, sizeof(struct tcmsg));

	listing->direction = direction;
	message->tcm_ifindex = listing->ifindex;
	message->tcm_parent = TC_H_MAKE(TC_H_CLSACT, direction == AT_INGRESS ? TC_H_MIN_INGRESS
									     : TC_H_MIN_EGRESS);
	return netlink_ask(netlink, &request, visit_filter, listing);
}

int clsact_read(int ifindex, struct clsact *clsact)
{
	struct listing listing = { clsact, ifindex, AT_INGRESS };
	int netlink = netlink_open(), error = netlink < 0 ? netlink : -EINTR;

	/* -EINTR: something changed meanwhile, and the answers may not fit together. */
	for (int i = 0; i < ATTEMPTS && error == -EINTR; i++) {
		memset(clsact, 0, sizeof(*clsact));
		error = dump_qdiscs(netlink, &listing);
		if (error || strcmp(clsact->qdisc, "clsact") != 0)
			continue;
		error = dump_filters(netlink, &listing, AT_INGRESS);
		if (!error)
			error = dump_filters(netlink, &listing, AT_EGRESS);
	}
	if (netlink >= 0)
		close(netlink);
	return error;
}
