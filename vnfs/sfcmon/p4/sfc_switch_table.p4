// SPDX-License-Identifier: Apache-2.0
// A switch with a per-flow table in the place of SFCMon (paper, section 3.3).
#include <core.p4>
#include <v1model.p4>

#include "table_monitor.p4"
#include "pipeline.p4"
