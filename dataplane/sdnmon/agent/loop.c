// SPDX-License-Identifier: Apache-2.0
/* Waits for events of descriptors, by epoll. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../common/report.h"
#include "loop.h"

#define EVENTS 64

/* Call epoll_ctl(). If it fails, the process ends. */
static void control(const struct loop *loop, int operation, int fd, struct watch *watch,
		    __u32 events)
{
	struct epoll_event event = { .events = events, .data.ptr = watch };

	if (epoll_ctl(loop->epoll, operation, fd, &event) == 0)
		return;
	/* Memory or descriptors are short: a channel that is never served must not stay. */
	complain("cannot wait for a connection: %s", strerror(errno));
	exit(1);
}

void loop_add(const struct loop *loop, int fd, struct watch *watch, __u32 events)
{
	control(loop, EPOLL_CTL_ADD, fd, watch, events);
}

void loop_change(const struct loop *loop, int fd, struct watch *watch, __u32 events)
{
	control(loop, EPOLL_CTL_MOD, fd, watch, events);
}

void loop_remove(const struct loop *loop, int fd)
{
	control(loop, EPOLL_CTL_DEL, fd, NULL, 0);
}

int loop_wait(const struct loop *loop, int timeout_ms)
{
	struct epoll_event events[EVENTS];
	int count = epoll_wait(loop->epoll, events, EVENTS, timeout_ms);

	if (count < 0 && errno != EINTR) {
		complain("cannot wait for connections: %s", strerror(errno));
		return -1;
	}
	for (int i = 0; i < count; i++) {
		struct watch *watch = events[i].data.ptr;

		watch->ready(watch, events[i].events);
	}
	return 0;
}
