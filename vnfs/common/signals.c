// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "signals.h"

void signals_block(sigset_t *signals)
{
	sigemptyset(signals);
	sigaddset(signals, SIGUSR1);
	sigaddset(signals, SIGTERM);
	sigaddset(signals, SIGINT);
	sigprocmask(SIG_BLOCK, signals, NULL);
}

bool signals_ask_for_counters(const sigset_t *signals)
{
	int taken;

	/* EINTR: the process was stopped and continued (signal(7)). */
	do {
		taken = sigwaitinfo(signals, NULL);
	} while (taken < 0 && errno == EINTR);
	return taken == SIGUSR1;
}
