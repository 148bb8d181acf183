/* SPDX-License-Identifier: Apache-2.0 */
/* What a monitored switch shows: its status and its notifications, as JSON Lines on stdout. Functions
 * return 0, or -1 after complain(). */
#pragma once

#include "../state.h"

/* Names of enum sdnmon_mode; the last one is NULL. */
extern const char *const mode_names[];

/* Of a state that is open. */
int show_status(const struct state *state);

/* Those that came since they were last shown; with `wait` also later ones, until SIGTERM or until
 * monitoring is off. The lock is not needed: waiting takes long, and nothing is changed. */
int show_events(struct state *state, bool wait);
