// SPDX-License-Identifier: Apache-2.0
// No monitoring: what the cost of SFCMon is compared with.
#ifndef SFCMON_MONITOR
#define SFCMON_MONITOR

#include "headers.p4"

control Monitor(in headers_t hdr, inout metadata_t meta) {
    apply {}
}

#endif
