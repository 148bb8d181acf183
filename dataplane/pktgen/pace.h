/* SPDX-License-Identifier: Apache-2.0 */
/* When a sender sleeps, and when it stops. */
#pragma once

#include <stdbool.h>

#include "pktgen.h"

/* Have signals end the system call in which the kernel sends. All but SIGALRM also end the
 * sending. */
void pace_watch_signals(void);

/* Has a signal ended the sending? */
bool pace_stopped(void);

/* Are packets so far apart that sleeping between them pays? */
bool pace_sleep_pays(const struct pktgen_settings *settings);

/* Sleep until the next packet is due, or the sending is over if that comes first. A signal ends
 * the sleep early. */
void pace_sleep_until_due(const struct pktgen_settings *settings, const struct pktgen_state *state);
