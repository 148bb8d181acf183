// SPDX-License-Identifier: Apache-2.0
/* Slots of living processes, and the lock for changes of filters: names of abstract Unix
 * sockets. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "../common/report.h"
#include "owners.h"

#define LOCK_TIMEOUT_MS 5000
#define LOCK_PAUSE_MS 5

/* Bind a socket to a name of this tool. Returns its descriptor, or -1 if another process has the
 * name. */
static int bind_name(const char *name)
{
	/* A name that begins with a zero byte is abstract: no file stands for it. */
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int bytes = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "sfcperf/%s/%s",
			     tool_name, name);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 &&
	    bind(fd, (struct sockaddr *)&address,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)bytes))) {
		close(fd);
		return -1;
	}
	return fd;
}

static int bind_slot(int slot)
{
	char name[16];

	snprintf(name, sizeof(name), "%d", slot);
	return bind_name(name);
}

int owner_take_slot(int *descriptor)
{
	for (int slot = 0; slot < OWNER_SLOTS; slot++) {
		*descriptor = bind_slot(slot);
		if (*descriptor >= 0)
			return slot;
	}
	return -1;
}

bool owner_is_dead(int slot)
{
	int fd = bind_slot(slot); /* works only if nobody has the name */

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int owner_lock(void)
{
	const struct timespec pause = { .tv_nsec = LOCK_PAUSE_MS * 1000000L };
	int fd;

	for (int waited_ms = 0; (fd = bind_name("lock")) < 0 && waited_ms < LOCK_TIMEOUT_MS;
	     waited_ms += LOCK_PAUSE_MS)
		nanosleep(&pause, NULL);
	return fd;
}

void owner_unlock(int lock)
{
	if (lock >= 0)
		close(lock);
}
