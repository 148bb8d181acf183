/* SPDX-License-Identifier: Apache-2.0 */
/* Engine `swx`: runs the P4 program in a pipeline of DPDK. */
#pragma once

#include "engine.h"

/* Write the C of the program with these sizes, for a library. Returns 0, or -1 after complain(). */
int swx_generate(const struct settings *settings, const char *code_path);
