/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of the process: what it waits for. */
#pragma once

#include <sys/epoll.h>

#include <linux/types.h>

struct loop {
	int epoll;
};

/* What is called when a descriptor is ready, with the events of epoll that came. `owner` is for the
 * function. */
struct watch {
	void (*ready)(struct watch *watch, __u32 events);
	void *owner;
};

/* Wait for events of a descriptor, or change which events are waited for. Without events (0),
 * only its end is reported. */
void loop_add(const struct loop *loop, int fd, struct watch *watch, __u32 events);
void loop_change(const struct loop *loop, int fd, struct watch *watch, __u32 events);
void loop_remove(const struct loop *loop, int fd);

/* Wait at most so long, and call the watches that are ready. Returns 0, or -1 after complain(). */
int loop_wait(const struct loop *loop, int timeout_ms);
