// SPDX-License-Identifier: Apache-2.0
// SFCMon with sketches, as docs/reference/sfcmon.md specifies it (paper, Algorithms 1 to 3).
#ifndef SFCMON_MONITOR
#define SFCMON_MONITOR

#include "count_min.p4"
#include "flow_store.p4"
#include "headers.p4"
#include "monitor_keys.p4"

const bit<32> UNPARSED_REASONS = 5;

control Monitor(in headers_t hdr, inout metadata_t meta) {
    // Both banks: cell 0 is bank 0's, cell 1 bank 1's.
    register<bit<32>>(2) packets;
    // Bank 1's come behind bank 0's.
    register<bit<32>>(2 * UNPARSED_REASONS) unparsed;
    // Packets that have begun and finished to update a bank. They wrap.
    register<bit<32>>(2) begun;
    register<bit<32>>(2) finished;

    CountMinBank() cms_bank0;
    CountMinBank() cms_bank1;
    FlowStoreBank() flow_bank0;
    FlowStoreBank() flow_bank1;
    Observe() observe;
    SourceColumns() source_columns;
    FlowPlaces() flow_places;

    bit<1> bank;
    bit<32> packet_number;
    bit<32> columns;
    bit<32> threshold_eval;
    bit<32> threshold_share;
    bit<32> threshold_packets;
    store_sizes_t sizes;

    // A bank and the settings for one window. The switch executes it while it holds the lock of
    // the table: when another window has been opened, no further packet begins in this bank.
    action open(bit<1> active, bit<32> evaluate_from, bit<32> share, bit<32> least_packets,
                bit<32> cms_columns, bit<32> bloom_bits, bit<32> iblt_cells) {
        bit<32> count;
        bank = active;
        threshold_eval = evaluate_from;
        threshold_share = share;
        threshold_packets = least_packets;
        columns = cms_columns;
        sizes.bits = bloom_bits;
        sizes.cells = iblt_cells;
        begun.read(count, (bit<32>)bank);
        begun.write((bit<32>)bank, count + 1);
    }

    // The controller opens windows by its default action. The first has the reference
    // configuration.
    table window {
        actions = {
            open;
        }
        default_action = open(0, 1000, 4294967, 0, 5437, 16384, 300);
    }

    action finish() {
        bit<32> count;
        finished.read(count, (bit<32>)bank);
        finished.write((bit<32>)bank, count + 1);
    }

    action count_unparsed() {
        bit<32> count;
        bit<32> reason = (bit<32>)bank * UNPARSED_REASONS + (bit<32>)meta.unparsed;
        unparsed.read(count, reason);
        unparsed.write(reason, count |+| 1);
    }

    action count_packet() {
        packets.read(packet_number, (bit<32>)bank);
        packet_number = packet_number |+| 1;
        packets.write((bit<32>)bank, packet_number);
    }

    apply {
        window.apply();
        if (meta.unparsed != PARSED) {
            count_unparsed();
        } else {
            observation_t seen;
            columns_t column_places;
            bit<24> estimate;

            count_packet();
            observe.apply(hdr, meta, seen);
            source_columns.apply(seen, columns, meta, column_places);
            if (bank == 0) {
                cms_bank0.apply(column_places, estimate);
            } else {
                cms_bank1.apply(column_places, estimate);
            }
            if (packet_number >= threshold_eval && (bit<32>)estimate >= threshold_packets &&
                (bit<64>)estimate << 32 >= (bit<64>)threshold_share * (bit<64>)packet_number) {
                store_places_t places;

                flow_places.apply(seen, sizes, meta, places);
                if (bank == 0) {
                    flow_bank0.apply(seen, places);
                } else {
                    flow_bank1.apply(seen, places);
                }
            }
        }
        finish();
    }
}

#endif
