/* SPDX-License-Identifier: Apache-2.0 */
/* When a sender rests, and when it stops. */
#pragma once

#include <stdbool.h>

#include "pktgen.h"

/* Signals end the system call in which the kernel sends, and all but SIGALRM the sending. */
void pace_watch_signals(void);

/* Has a signal ended it? */
bool pace_stopped(void);

/* Sleep until the next packet is due, when that is so far away that sleeping pays. */
void pace_rest(const struct pktgen_settings *settings, const struct pktgen_state *state);
bool pace_rests(const struct pktgen_settings *settings);
