// SPDX-License-Identifier: Apache-2.0
// A switch without monitoring, for comparison.
#include <core.p4>
#include <v1model.p4>

#include "no_monitor.p4"
#include "pipeline.p4"
