/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "../common/options.h"

/* The option --filter, `proto=tcp,src=10.0.0.0/24,...`, of struct ppt_settings. */
void take_filter(const struct tool_option *option, const char *argument);
