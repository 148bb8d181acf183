/* SPDX-License-Identifier: Apache-2.0 */
/* When a sender rests, and when it stops. */
#pragma once

#include <stdbool.h>

#include "pktgen.h"

/* Have signals end the system call in which the kernel sends. All but SIGALRM also end the
 * sending. */
void pace_watch_signals(void);

/* Has a signal ended the sending? */
bool pace_stopped(void);

/* pace_rests() says whether packets are so far apart that sleeping pays; pace_rest() sleeps
 * until the next one is due. */
void pace_rest(const struct pktgen_settings *settings, const struct pktgen_state *state);
bool pace_rests(const struct pktgen_settings *settings);
