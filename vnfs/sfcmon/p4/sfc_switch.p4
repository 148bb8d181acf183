// SPDX-License-Identifier: Apache-2.0
// A switch with SFCMon, the monitor of the paper.
#include <core.p4>
#include <v1model.p4>

#include "sketch_monitor.p4"
#include "pipeline.p4"
