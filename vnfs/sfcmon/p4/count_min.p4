// SPDX-License-Identifier: Apache-2.0
// The count-min sketch: where a source is in it, and its counters.
#ifndef SFCMON_COUNT_MIN
#define SFCMON_COUNT_MIN

#include "monitor_keys.p4"
#include "murmur3.p4"

const bit<32> CMS_COLUMNS = 8192;  // at most
#define CMS_ROWS 5

// Index into the registers, by row.
struct columns_t {
    bit<32> row0;
    bit<32> row1;
    bit<32> row2;
    bit<32> row3;
    bit<32> row4;
}

// Row r has seed 1 + r.
#define FOR_EACH_CMS_ROW(DO) DO(0) DO(1) DO(2) DO(3) DO(4)

control SourceColumns(in observation_t seen, in bit<32> columns, inout metadata_t meta,
                      out columns_t places) {
#define IPV4_COLUMN(ROW)                                                                          \
    MURMUR3_BEGIN(meta.murmur3.hash, 1 + ROW)                                                                \
    MURMUR3_ADD(meta.murmur3.hash, meta.murmur3.path)                                                                   \
    MURMUR3_END(meta.murmur3.hash, meta.murmur3.source3, 8)                                                             \
    places.row##ROW = ROW * CMS_COLUMNS + REDUCE(meta.murmur3.hash, columns);

#define IPV6_COLUMN(ROW)                                                                          \
    MURMUR3_BEGIN(meta.murmur3.hash, 1 + ROW)                                                                \
    MURMUR3_ADD(meta.murmur3.hash, meta.murmur3.path)                                                                   \
    MURMUR3_ADD(meta.murmur3.hash, meta.murmur3.source0)                                                                \
    MURMUR3_ADD(meta.murmur3.hash, meta.murmur3.source1)                                                                \
    MURMUR3_ADD(meta.murmur3.hash, meta.murmur3.source2)                                                                \
    MURMUR3_END(meta.murmur3.hash, meta.murmur3.source3, 20)                                                            \
    places.row##ROW = ROW * CMS_COLUMNS + REDUCE(meta.murmur3.hash, columns);

    action find_ipv4() {
        MURMUR3_SCRAMBLE(meta.murmur3.path, seen.path)
        MURMUR3_SCRAMBLE(meta.murmur3.source3, seen.source[31:0])
        FOR_EACH_CMS_ROW(IPV4_COLUMN)
    }

    action find_ipv6() {
        MURMUR3_SCRAMBLE(meta.murmur3.path, seen.path)
        MURMUR3_SCRAMBLE(meta.murmur3.source0, seen.source[127:96])
        MURMUR3_SCRAMBLE(meta.murmur3.source1, seen.source[95:64])
        MURMUR3_SCRAMBLE(meta.murmur3.source2, seen.source[63:32])
        MURMUR3_SCRAMBLE(meta.murmur3.source3, seen.source[31:0])
        FOR_EACH_CMS_ROW(IPV6_COLUMN)
    }

    apply {
        if (seen.ipv6 == 0) {
            find_ipv4();
        } else {
            find_ipv6();
        }
    }
}

// One bank. `estimate` includes this packet.
control CountMinBank(in columns_t places, out bit<24> estimate) {
    register<bit<24>>(CMS_ROWS * CMS_COLUMNS) cms;

#define COUNT(ROW)                                                                                \
    cms.read(count, places.row##ROW);                                                             \
    count = count |+| 1;                                                                          \
    cms.write(places.row##ROW, count);                                                            \
    estimate = count < estimate ? count : estimate;

    action update() {
        bit<24> count;
        estimate = 0xFFFFFF;
        FOR_EACH_CMS_ROW(COUNT)
    }

    apply {
        update();
    }
}

#endif
