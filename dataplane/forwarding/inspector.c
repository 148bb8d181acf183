// SPDX-License-Identifier: Apache-2.0
/* Ticks for inspectors, by a timer. */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "../common/report.h"
#include "engine.h"

int inspector_ticks(void)
{
	const struct timespec tick = { .tv_nsec = INSPECTOR_TICK_MS * 1000000L };
	const struct itimerspec ticks = { .it_interval = tick, .it_value = tick };
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (timer < 0 || timerfd_settime(timer, 0, &ticks, NULL)) {
		complain("cannot make a timer: %s", strerror(errno));
		return -1;
	}
	return timer;
}

bool inspector_ticked(int ticks)
{
	uint64_t count; /* of ticks since the last reading; nothing is read if there are none */

	return read(ticks, &count, sizeof(count)) == sizeof(count);
}
