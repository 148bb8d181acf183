/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <signal.h>

#include "live.h"

/* Block the signals that are waited for; before any thread starts. */
void serve_signals(sigset_t *signals);

/* Forward between interfaces until SIGTERM. Exit status. The stats file is open. */
int serve_run(const struct work *work, const struct live *live, const sigset_t *signals);
