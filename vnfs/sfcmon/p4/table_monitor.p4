// SPDX-License-Identifier: Apache-2.0
// What the paper compares SFCMon with (section 3.3): a P4 table with an entry and a counter for each
// flow. The controller adds the entries.
#ifndef SFCMON_MONITOR
#define SFCMON_MONITOR

#include "headers.p4"
#include "monitor_keys.p4"

const bit<32> UNPARSED_REASONS = 5;

control Monitor(in headers_t hdr, inout metadata_t meta) {
    direct_counter(CounterType.packets_and_bytes) flow_counters;
    counter(UNPARSED_REASONS, CounterType.packets) unparsed;
    counter(1, CounterType.packets) untracked;  // of flows that have no entry
    Observe() observe;
    observation_t seen;

    action count() {
        flow_counters.count();
    }

    action ignore() {
        untracked.count(0);
    }

    table flows {
        key = {
            seen.path: exact @name("path");  // SPI, SI
            seen.kind: exact @name("kind");  // protocol, IP version, 0
            seen.ports: exact @name("ports");
            seen.source: exact @name("source");
            seen.destination: exact @name("destination");
        }
        actions = {
            count;
            ignore;
        }
        const default_action = ignore();
        counters = flow_counters;
        size = 131072;
    }

    apply {
        if (meta.unparsed != PARSED) {
            unparsed.count((bit<32>)meta.unparsed);
        } else {
            observe.apply(hdr, meta, seen);
            flows.apply();
        }
    }
}

#endif
