// SPDX-License-Identifier: Apache-2.0
// The Bloom filter and the IBLT: where a flow is in them, and their registers.
#ifndef SFCMON_FLOW_STORE
#define SFCMON_FLOW_STORE

#include "monitor_keys.p4"
#include "murmur3.p4"

const bit<32> BLOOM_BITS = 65536;  // at most
const bit<32> IBLT_CELLS = 512;    // at most

// Sizes in use.
struct store_sizes_t {
    bit<32> bits;
    bit<32> cells;
}

struct store_places_t {
    bit<32> bit0;
    bit<32> bit1;
    bit<32> bit2;
    bit<32> bit3;
    bit<32> cell0;
    bit<32> cell1;
    bit<32> cell2;
    bit<32> checksum;
}

// Seeds: hash functions of the Bloom filter from 9, of the IBLT from 16, the checksum 22. The words
// that FlowID1 has as well come from SourceColumns.
control FlowPlaces(in observation_t seen, in store_sizes_t sizes, inout metadata_t meta,
                   out store_places_t places) {
#define IPV4_HASH(SEED)                                                                           \
    MURMUR3_BEGIN(meta.murmur3.hash, SEED)                                                                   \
    MURMUR3_ADD(meta.murmur3.hash, meta.murmur3.path)                                                                   \
    MURMUR3_ADD(meta.murmur3.hash, meta.murmur3.kind)                                                                   \
    MURMUR3_ADD(meta.murmur3.hash, meta.murmur3.ports)                                                                  \
    MURMUR3_ADD(meta.murmur3.hash, meta.murmur3.source3)                                                                \
    MURMUR3_END(meta.murmur3.hash, meta.murmur3.destination3, 20)

#define IPV6_HASH(SEED)                                                                           \
    MURMUR3_BEGIN(meta.murmur3.hash, SEED)                                                                   \
    MURMUR3_ADD(meta.murmur3.hash, meta.murmur3.path)                                                                   \
    MURMUR3_ADD(meta.murmur3.hash, meta.murmur3.kind)                                                                   \
    MURMUR3_ADD(meta.murmur3.hash, meta.murmur3.ports)                                                                  \
    MURMUR3_ADD(meta.murmur3.hash, meta.murmur3.source0)                                                                \
    MURMUR3_ADD(meta.murmur3.hash, meta.murmur3.source1)                                                                \
    MURMUR3_ADD(meta.murmur3.hash, meta.murmur3.source2)                                                                \
    MURMUR3_ADD(meta.murmur3.hash, meta.murmur3.source3)                                                                \
    MURMUR3_ADD(meta.murmur3.hash, meta.murmur3.destination0)                                                           \
    MURMUR3_ADD(meta.murmur3.hash, meta.murmur3.destination1)                                                           \
    MURMUR3_ADD(meta.murmur3.hash, meta.murmur3.destination2)                                                           \
    MURMUR3_END(meta.murmur3.hash, meta.murmur3.destination3, 44)

#define PLACES(HASH)                                                                              \
    HASH(9) places.bit0 = REDUCE(meta.murmur3.hash, sizes.bits);                                             \
    HASH(10) places.bit1 = REDUCE(meta.murmur3.hash, sizes.bits);                                            \
    HASH(11) places.bit2 = REDUCE(meta.murmur3.hash, sizes.bits);                                            \
    HASH(12) places.bit3 = REDUCE(meta.murmur3.hash, sizes.bits);                                            \
    HASH(16) places.cell0 = REDUCE(meta.murmur3.hash, sizes.cells);                               \
    HASH(17) places.cell1 = REDUCE(meta.murmur3.hash, sizes.cells);                               \
    HASH(18) places.cell2 = REDUCE(meta.murmur3.hash, sizes.cells);                               \
    HASH(22) places.checksum = meta.murmur3.hash;                                                 \
    DIFFERENT_CELLS

// A cell that the key has already gives way to the next one.
#define DIFFERENT_CELLS                                                                           \
    places.cell1 = places.cell1 == places.cell0 ? places.cell1 + 1 : places.cell1;                \
    WITHIN(places.cell1)                                                                          \
    NEXT_CELL2                                                                                    \
    NEXT_CELL2

#define NEXT_CELL2                                                                                \
    places.cell2 = places.cell2 == places.cell0 || places.cell2 == places.cell1                   \
        ? places.cell2 + 1 : places.cell2;                                                        \
    WITHIN(places.cell2)

#define WITHIN(CELL) CELL = CELL == sizes.cells ? 0 : CELL;

    action find_ipv4() {
        MURMUR3_SCRAMBLE(meta.murmur3.kind, seen.kind)
        MURMUR3_SCRAMBLE(meta.murmur3.ports, seen.ports)
        MURMUR3_SCRAMBLE(meta.murmur3.destination3, seen.destination[31:0])
        PLACES(IPV4_HASH)
    }

    action find_ipv6() {
        MURMUR3_SCRAMBLE(meta.murmur3.kind, seen.kind)
        MURMUR3_SCRAMBLE(meta.murmur3.ports, seen.ports)
        MURMUR3_SCRAMBLE(meta.murmur3.destination0, seen.destination[127:96])
        MURMUR3_SCRAMBLE(meta.murmur3.destination1, seen.destination[95:64])
        MURMUR3_SCRAMBLE(meta.murmur3.destination2, seen.destination[63:32])
        MURMUR3_SCRAMBLE(meta.murmur3.destination3, seen.destination[31:0])
        PLACES(IPV6_HASH)
    }

    apply {
        if (seen.ipv6 == 0) {
            find_ipv4();
        } else {
            find_ipv6();
        }
    }
}

// One bank.
control FlowStoreBank(in observation_t seen, in store_places_t places) {
    register<bit<1>>(BLOOM_BITS) bloom;
    register<bit<32>>(IBLT_CELLS) iblt_count;
    register<bit<32>>(IBLT_CELLS) iblt_checksum;
    register<bit<32>>(IBLT_CELLS) iblt_packets;
    // 64 bits in two parts, because Thrift's numbers have a sign.
    register<bit<32>>(IBLT_CELLS) iblt_bytes_high;
    register<bit<32>>(IBLT_CELLS) iblt_bytes_low;
    // The words of the key.
    register<bit<32>>(IBLT_CELLS) iblt_key0;
    register<bit<32>>(IBLT_CELLS) iblt_key1;
    register<bit<32>>(IBLT_CELLS) iblt_key2;
    register<bit<32>>(IBLT_CELLS) iblt_key3;
    register<bit<32>>(IBLT_CELLS) iblt_key4;
    register<bit<32>>(IBLT_CELLS) iblt_key5;
    register<bit<32>>(IBLT_CELLS) iblt_key6;
    register<bit<32>>(IBLT_CELLS) iblt_key7;
    register<bit<32>>(IBLT_CELLS) iblt_key8;
    register<bit<32>>(IBLT_CELLS) iblt_key9;
    register<bit<32>>(IBLT_CELLS) iblt_key10;

    bit<1> stored;

    action query_bloom() {
        bit<1> bit0;
        bit<1> bit1;
        bit<1> bit2;
        bit<1> bit3;
        bloom.read(bit0, places.bit0);
        bloom.read(bit1, places.bit1);
        bloom.read(bit2, places.bit2);
        bloom.read(bit3, places.bit3);
        stored = bit0 & bit1 & bit2 & bit3;
    }

#define EXCLUSIVE_OR(FIELD, CELL, VALUE)                                                          \
    FIELD.read(word, CELL);                                                                       \
    FIELD.write(CELL, word ^ (VALUE));

#define INSERT_HEAD(CELL)                                                                         \
    iblt_count.read(word, CELL);                                                                  \
    iblt_count.write(CELL, word + 1);                                                             \
    EXCLUSIVE_OR(iblt_checksum, CELL, places.checksum)                                            \
    EXCLUSIVE_OR(iblt_key0, CELL, seen.path)                                                      \
    EXCLUSIVE_OR(iblt_key1, CELL, seen.kind)                                                      \
    EXCLUSIVE_OR(iblt_key2, CELL, seen.ports)

#define INSERT_IPV4(CELL)                                                                         \
    INSERT_HEAD(CELL)                                                                             \
    EXCLUSIVE_OR(iblt_key3, CELL, seen.source[31:0])                                              \
    EXCLUSIVE_OR(iblt_key4, CELL, seen.destination[31:0])

#define INSERT_IPV6(CELL)                                                                         \
    INSERT_HEAD(CELL)                                                                             \
    EXCLUSIVE_OR(iblt_key3, CELL, seen.source[127:96])                                            \
    EXCLUSIVE_OR(iblt_key4, CELL, seen.source[95:64])                                             \
    EXCLUSIVE_OR(iblt_key5, CELL, seen.source[63:32])                                             \
    EXCLUSIVE_OR(iblt_key6, CELL, seen.source[31:0])                                              \
    EXCLUSIVE_OR(iblt_key7, CELL, seen.destination[127:96])                                       \
    EXCLUSIVE_OR(iblt_key8, CELL, seen.destination[95:64])                                        \
    EXCLUSIVE_OR(iblt_key9, CELL, seen.destination[63:32])                                        \
    EXCLUSIVE_OR(iblt_key10, CELL, seen.destination[31:0])

    action insert_bloom() {
        bloom.write(places.bit0, 1);
        bloom.write(places.bit1, 1);
        bloom.write(places.bit2, 1);
        bloom.write(places.bit3, 1);
    }

    action insert_ipv4() {
        bit<32> word;
        insert_bloom();
        INSERT_IPV4(places.cell0)
        INSERT_IPV4(places.cell1)
        INSERT_IPV4(places.cell2)
    }

    action insert_ipv6() {
        bit<32> word;
        insert_bloom();
        INSERT_IPV6(places.cell0)
        INSERT_IPV6(places.cell1)
        INSERT_IPV6(places.cell2)
    }

#define UPDATE(CELL)                                                                              \
    iblt_packets.read(low, CELL);                                                                 \
    iblt_packets.write(CELL, low + 1);                                                            \
    iblt_bytes_high.read(high, CELL);                                                             \
    iblt_bytes_low.read(low, CELL);                                                               \
    sum = (high ++ low) + (bit<64>)seen.size;                                                     \
    iblt_bytes_high.write(CELL, sum[63:32]);                                                      \
    iblt_bytes_low.write(CELL, sum[31:0]);

    action update_iblt() {
        bit<32> high;
        bit<32> low;
        bit<64> sum;
        UPDATE(places.cell0)
        UPDATE(places.cell1)
        UPDATE(places.cell2)
    }

    apply {
        query_bloom();
        if (stored == 0) {
            if (seen.ipv6 == 0) {
                insert_ipv4();
            } else {
                insert_ipv6();
            }
        }
        update_iblt();
    }
}

#endif
