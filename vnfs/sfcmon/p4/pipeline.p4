// SPDX-License-Identifier: Apache-2.0
// Classifier, SFCMon and SFF in the order of Fig. 1 of the paper. Whoever includes this file has
// included the monitor before.
#ifndef SFCMON_PIPELINE
#define SFCMON_PIPELINE

#include "classifier.p4"
#include "headers.p4"
#include "parser.p4"
#include "receiver.p4"
#include "sff.p4"

control Switch(inout headers_t hdr,
                inout metadata_t meta,
                inout standard_metadata_t standard) {
    counter(DROP_REASONS, CounterType.packets_and_bytes) drops;
    counter(WAYS, CounterType.packets_and_bytes) forwarded;
    Receiver() receiver;
    Classifier() classifier;
    Monitor() monitor;
    Sff() sff;

    action drop() {
        drops.count((bit<32>)meta.drop);
        mark_to_drop(standard);
    }

    action forward(way_t way) {
        forwarded.count((bit<32>)way);
    }

    apply {
        receiver.apply(hdr, meta, standard);
        if (meta.drop == KEEP && (meta.kind == KIND_ENDPOINT || meta.kind == KIND_PLAIN)) {
            classifier.apply(hdr, meta, standard);
        }
        // Frames from other nodes and SFs also when they are dropped: SFCMon counts what it cannot
        // parse.
        if (meta.bypasses == 0 && (hdr.nsh.isValid() || meta.carried == 1)) {
            monitor.apply(hdr, meta);
        }
        if (meta.drop == KEEP) {
            sff.apply(hdr, meta, standard);
        }
        if (meta.drop != KEEP) {
            drop();
        } else if (meta.kind == KIND_SERVICE) {
            forward(WAY_SERVED);
        } else if (meta.bypasses == 1) {
            forward(WAY_BYPASSED);
        } else {
            forward(WAY_PATH);
        }
    }
}

control Output(inout headers_t hdr,
               inout metadata_t meta,
               inout standard_metadata_t standard) {
    apply {
        // Padding of a frame in the underlay does not go on.
        if (meta.outer_bytes == GPE_BYTES && meta.in_transit == 0) {
            truncate(meta.out_length);
        }
    }
}

V1Switch(FrameParser(), VerifyOuterChecksum(), Switch(), Output(), UpdateOuterChecksum(),
         FrameDeparser()) main;

#endif
