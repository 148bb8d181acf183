/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the status and the notifications of a monitored switch, as JSON Lines on stdout.
 * Functions return 0, or -1 after complain(). */
#pragma once

#include "../state.h"

/* Names by enum sdnmon_mode. NULL ends the list. */
extern const char *const mode_names[];

/* Print the status of a state that is open. */
int show_status(const struct state *state);

/* Print the notifications that came since they were last shown. With `wait`, print also later
 * ones, until SIGTERM or until monitoring is off. The lock is not needed: waiting takes long,
 * and nothing is changed. */
int show_events(struct state *state, bool wait);
