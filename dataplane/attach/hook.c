// SPDX-License-Identifier: Apache-2.0
/* Names of the hooks, as options have them. */
#include <stddef.h>

#include "hook.h"

const char *const hook_names[] = { "auto", "tcx", "clsact", "xdp", NULL };
const char *const tc_hook_names[] = { "auto", "tcx", "clsact", NULL };
