// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/gen_stats.h>

#include "netlink.h"
#include "qdisc.h"

static void visit(const struct nlmsghdr *answer, void *context)
{
	const struct rtattr *kind = netlink_find(answer, sizeof(struct tcmsg), TCA_KIND);
	const struct rtattr *queue = netlink_find_in(
		netlink_find(answer, sizeof(struct tcmsg), TCA_STATS2), TCA_STATS_QUEUE);
	struct qdisc *qdisc = context;

	if (kind)
		snprintf(qdisc->kind, sizeof(qdisc->kind), "%s", (const char *)RTA_DATA(kind));
	if (queue)
		qdisc->backlog_bytes = ((struct gnet_stats_queue *)RTA_DATA(queue))->backlog;
}

int qdisc_at(int netlink, int ifindex, __u32 parent, struct qdisc *qdisc)
{
	union netlink_request request;
	struct tcmsg *question = netlink_begin(&request, RTM_GETQDISC, 0, sizeof(struct tcmsg));
	int error;

	memset(qdisc, 0, sizeof(*qdisc));
	question->tcm_family = AF_UNSPEC;
	question->tcm_ifindex = ifindex;
	question->tcm_parent = parent;
	error = netlink_ask(netlink, &request, visit, qdisc);
	return error == -ENOENT ? 0 : error;
}
