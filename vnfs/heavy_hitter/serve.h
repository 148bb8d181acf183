/* SPDX-License-Identifier: Apache-2.0 */
/* Serves as a function of a chain. */
#pragma once

#include <signal.h>

#include "live.h"

/* Forward between interfaces until SIGTERM or SIGINT. Returns the exit status. The stats file must
 * be open, and SIGUSR2 must be among the signals. */
int serve_run(const struct work *work, const struct live *live, const sigset_t *signals);
