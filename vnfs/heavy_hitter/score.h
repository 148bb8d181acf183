/* SPDX-License-Identifier: Apache-2.0 */
/* Scores how right the estimates of a sketch are, by the exact number of packets of each flow. */
#pragma once

#include "../../dataplane/capture/left_out.h"
#include "engine.h"
#include "tool.h"

/* Count a frame that an engine is about to get: for its flow, or as left out. Plain frames are
 * counted nowhere with `nsh_only`. Returns 0, or -1 after complain(). */
int score_count(const struct taken *frame, bool nsh_only, struct left_out *left_out);

/* Print the event `score` of an epoch whose packets the engine has counted, and begin the next
 * one. */
void score_print(const struct work *work, struct engine *engine, uint64_t epoch);
