/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <linux/types.h>

struct qdisc {
	char kind[16]; /* "": there is none */
};

/* The qdisc of an interface at TC_H_CLSACT. 0, or -errno. */
int qdisc_at(int netlink, int ifindex, __u32 parent, struct qdisc *qdisc);
