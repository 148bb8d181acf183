/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to the kernel's rtnetlink (rtnetlink(7)). libmnl would do, but Debian has no static
 * library of it. */
#pragma once

#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stddef.h>

/* A request: header, a fixed part, attributes. */
union netlink_request {
	struct nlmsghdr header;
	char bytes[128];
};

/* Is called with each answer. `context` is the caller's own. */
typedef void (*netlink_visitor)(const struct nlmsghdr *answer, void *context);

/* Open a socket. Returns its descriptor, or -errno. */
int netlink_open(void);

/* Begin a request, with NLM_F_REQUEST and `flags`. Returns its fixed part, which has `fixed_bytes`
 * and is filled with zeros. */
void *netlink_begin(union netlink_request *request, int type, int flags, size_t fixed_bytes);

/* Append an attribute, if the request has room for it. */
void netlink_put(union netlink_request *request, int type, const void *value, size_t bytes);

/* Send a request, and call `visit` (may be NULL) with each answer. Returns 0 after the last one, or
 * -errno of the kernel; -EINTR: what was dumped changed meanwhile. */
int netlink_ask(int fd, union netlink_request *request, netlink_visitor visit, void *context);

/* Return an attribute of an answer, behind its fixed part of `fixed_bytes`; NULL if it has none
 * of this type. */
const struct rtattr *netlink_find(const struct nlmsghdr *answer, size_t fixed_bytes, int type);

/* Return an attribute inside an attribute, which may be NULL; NULL if there is none of this
 * type. */
const struct rtattr *netlink_find_in(const struct rtattr *outer, int type);

/* Does an attribute hold this text? It may be NULL. */
bool netlink_is(const struct rtattr *attribute, const char *text);
