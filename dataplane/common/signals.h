/* SPDX-License-Identifier: Apache-2.0 */
/* Signals to a tool: SIGUSR1 asks for its counters; SIGTERM and SIGINT end it. */
#pragma once

#include <signal.h>
#include <stdbool.h>

/* Block these signals and `another` (0: none), so that they can be waited for. Call it before
 * any thread starts, because threads inherit it. */
void signals_block(sigset_t *signals, int another);

/* Wait for one of the signals, and return it; 0 when timeout_ms is over (0: wait for ever). */
int signals_next(const sigset_t *signals, unsigned int timeout_ms);

/* Wait for one of the signals. Returns true if counters are asked for, false if the tool is to
 * end. */
bool signals_ask_for_counters(const sigset_t *signals);
