/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to the kernel's rtnetlink (rtnetlink(7)). Debian's libmnl has no static library. */
#pragma once

#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stddef.h>

/* A request: header, a fixed part, attributes. */
union netlink_request {
	struct nlmsghdr header;
	char bytes[128];
};

typedef void (*netlink_visitor)(const struct nlmsghdr *answer, void *context);

/* A socket, or -errno. */
int netlink_open(void);

/* Begin a request; its zeroed fixed part is returned. */
void *netlink_begin(union netlink_request *request, int type, int flags, size_t fixed_bytes);

/* Append an attribute. */
void netlink_put(union netlink_request *request, int type, const void *value, size_t bytes);

/* Send a request, and visit each answer. 0, or -errno of the kernel; -EINTR: what was dumped
 * changed meanwhile. */
int netlink_ask(int fd, union netlink_request *request, netlink_visitor visit, void *context);

/* An attribute of an answer whose fixed part is `fixed_bytes`, or NULL. */
const struct rtattr *netlink_find(const struct nlmsghdr *answer, size_t fixed_bytes, int type);

/* An attribute inside an attribute, or NULL; `outer` may be NULL. */
const struct rtattr *netlink_find_in(const struct rtattr *outer, int type);

/* Does an attribute hold this text? It may be NULL. */
bool netlink_is(const struct rtattr *attribute, const char *text);
