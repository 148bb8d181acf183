/* SPDX-License-Identifier: Apache-2.0 */
/* The option --filter of pptmon. */
#pragma once

#include "../common/options.h"

/* Take the option --filter, `proto=tcp,src=10.0.0.0/24,...`, to a struct ppt_settings. */
void take_filter(const struct tool_option *option, const char *argument);
