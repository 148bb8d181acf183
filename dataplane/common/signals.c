// SPDX-License-Identifier: Apache-2.0
/* Waits for the signals that control a tool. */
#include <errno.h>
#include <time.h>

#include "signals.h"

void signals_block(sigset_t *signals, int another)
{
	sigemptyset(signals);
	sigaddset(signals, SIGUSR1);
	sigaddset(signals, SIGTERM);
	sigaddset(signals, SIGINT);
	if (another)
		sigaddset(signals, another);
	sigprocmask(SIG_BLOCK, signals, NULL);
}

int signals_next(const sigset_t *signals, unsigned int timeout_ms)
{
	const struct timespec timeout = {
		.tv_sec = timeout_ms / 1000,
		.tv_nsec = timeout_ms % 1000 * 1000000L,
	};
	int taken;

	/* EINTR: the process was stopped and continued (signal(7)). */
	do {
		taken = sigtimedwait(signals, NULL, timeout_ms ? &timeout : NULL);
	} while (taken < 0 && errno == EINTR);
	return taken < 0 ? 0 : taken;
}

bool signals_ask_for_counters(const sigset_t *signals)
{
	return signals_next(signals, 0) == SIGUSR1;
}
