/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <signal.h>

#include "live.h"

/* Forward between interfaces until SIGTERM. Exit status. The stats file is open, SIGUSR2 is one of the
 * signals. */
int serve_run(const struct work *work, const struct live *live, const sigset_t *signals);
