// SPDX-License-Identifier: Apache-2.0
/* Sends requests to rtnetlink and reads the answers. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netlink.h"

#define ANSWER_BYTES 32768 /* the kernel makes answers no larger */

int netlink_open(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	return fd < 0 ? -errno : fd;
}

void *netlink_begin(union netlink_request *request, int type, int flags, size_t fixed_bytes)
{
	memset(request, 0, sizeof(*request));
	request->header.nlmsg_len = (__u32)NLMSG_LENGTH(fixed_bytes);
	request->header.nlmsg_type = (__u16)type;
	request->header.nlmsg_flags = (__u16)(NLM_F_REQUEST | flags);
	return NLMSG_DATA(&request->header);
}

void netlink_put(union netlink_request *request, int type, const void *value, size_t bytes)
{
	size_t at = NLMSG_ALIGN(request->header.nlmsg_len);
	struct rtattr *attribute = (struct rtattr *)(request->bytes + at);

	if (at + RTA_SPACE(bytes) > sizeof(*request))
		return;
	attribute->rta_type = (unsigned short)type;
	attribute->rta_len = (unsigned short)RTA_LENGTH(bytes);
	memcpy(RTA_DATA(attribute), value, bytes);
	request->header.nlmsg_len = (__u32)(at + RTA_SPACE(bytes));
}

/* Take an answer. Returns 1 if more are to come, 0 at the end, or -errno. NLMSG_ERROR with the
 * number 0 is the end of an answer that is no dump (NLM_F_ACK). */
static int take(const struct nlmsghdr *answer, netlink_visitor visit, void *context)
{
	const struct nlmsgerr *error = NLMSG_DATA(answer);

	if (answer->nlmsg_flags & NLM_F_DUMP_INTR)
		return -EINTR;
	if (answer->nlmsg_type == NLMSG_DONE)
		return 0;
	if (answer->nlmsg_type == NLMSG_ERROR)
		return error->error;
	if (visit)
		visit(answer, context);
	return 1;
}

int netlink_ask(int fd, union netlink_request *request, netlink_visitor visit, void *context)
{
	static __u32 sequence;
	union {
		struct nlmsghdr header;
		char bytes[ANSWER_BYTES];
	} answers;

	request->header.nlmsg_seq = ++sequence;
	if (!(request->header.nlmsg_flags & NLM_F_DUMP))
		request->header.nlmsg_flags |= NLM_F_ACK;
	if (send(fd, request, request->header.nlmsg_len, 0) < 0)
		return -errno;
	for (;;) {
		ssize_t received = recv(fd, &answers, sizeof(answers), 0);
		unsigned int left = (unsigned int)received;

		if (received < 0 && errno == EINTR)
			continue;
		if (received < 0)
			return -errno;
		for (struct nlmsghdr *answer = &answers.header; NLMSG_OK(answer, left);
		     answer = NLMSG_NEXT(answer, left)) {
			int status;

			/* This is the rest of an earlier dump that was given up. */
			if (answer->nlmsg_seq != sequence)
				continue;
			status = take(answer, visit, context);
			if (status <= 0)
				return status;
		}
	}
}

/* Find an attribute in a list of `left` bytes; NULL if there is none of this type. */
static const struct rtattr *find(const struct rtattr *attribute, int left, int type)
{
	for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left))
		if ((attribute->rta_type & NLA_TYPE_MASK) == type)
			return attribute;
	return NULL;
}

const struct rtattr *netlink_find(const struct nlmsghdr *answer, size_t fixed_bytes, int type)
{
	const char *start = NLMSG_DATA(answer);

	return find((const struct rtattr *)(start + NLMSG_ALIGN(fixed_bytes)),
		    (int)(answer->nlmsg_len - NLMSG_SPACE(fixed_bytes)), type);
}

const struct rtattr *netlink_find_in(const struct rtattr *outer, int type)
{
	return outer ? find(RTA_DATA(outer), (int)RTA_PAYLOAD(outer), type) : NULL;
}

bool netlink_is(const struct rtattr *attribute, const char *text)
{
	size_t bytes = strlen(text) + 1;

	return attribute && RTA_PAYLOAD(attribute) == bytes &&
	       memcmp(RTA_DATA(attribute), text, bytes) == 0;
}
