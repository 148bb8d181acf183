// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "../common/netlink.h"
#include "qdisc.h"

#define ATTEMPTS 10 /* at a dump of what others change meanwhile */

struct search {
	int ifindex;
	__u32 parent;
	struct qdisc *found;
};

static void visit(const struct nlmsghdr *answer, void *context)
{
	const struct tcmsg *message = NLMSG_DATA(answer);
	const struct rtattr *kind = netlink_find(answer, sizeof(*message), TCA_KIND);
	const struct search *search = context;

	if (message->tcm_ifindex != search->ifindex || message->tcm_parent != search->parent)
		return;
	if (kind)
		snprintf(search->found->kind, sizeof(search->found->kind), "%s",
			 (const char *)RTA_DATA(kind));
}

/* By a dump of all: the answer to a request for one goes to all listeners (`tc monitor`). */
int qdisc_at(int netlink, int ifindex, __u32 parent, struct qdisc *qdisc)
{
	struct search search = { ifindex, parent, qdisc };
	union netlink_request request;
	int error = -EINTR;

	for (int i = 0; i < ATTEMPTS && error == -EINTR; i++) {
		memset(qdisc, 0, sizeof(*qdisc));
		netlink_begin(&request, RTM_GETQDISC, NLM_F_DUMP, sizeof(struct tcmsg));
		error = netlink_ask(netlink, &request, visit, &search);
	}
	return error;
}
