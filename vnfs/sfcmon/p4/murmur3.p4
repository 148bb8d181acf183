// SPDX-License-Identifier: Apache-2.0
// MurmurHash3_x86_32 (A. Appleby, public domain) of keys made of whole 32-bit words, in the
// arithmetic of P4.
//
// p4c replaces variables by what was assigned to them, unless that depends on the variable itself.
// Each step here uses the state before it twice: its expressions would grow by a power of two.
// Hence these macros begin with a value of the metadata, which p4c does not know, and remove it by
// exclusive or.
#ifndef SFCMON_MURMUR3
#define SFCMON_MURMUR3

// What a word of the key adds, whatever the seed. Words are read least significant byte first.
#define MURMUR3_SCRAMBLE(K, WORD)                                                                 \
    K = K ^ ((((WORD) & 0x00FF00FF) << 8) | (((WORD) >> 8) & 0x00FF00FF)) ^ K;                    \
    K = ((K << 16) | (K >> 16)) * 0xCC9E2D51;                                                     \
    K = ((K << 15) | (K >> 17)) * 0x1B873593;

#define MURMUR3_BEGIN(H, SEED) H = H ^ SEED ^ H;

#define MURMUR3_ADD(H, K) H = (((H ^ K) << 13) | ((H ^ K) >> 19)) * 5 + 0xE6546B64;

// The last word, and the length of the key.
#define MURMUR3_END(H, K, BYTES)                                                                  \
    H = ((((H ^ K) << 13) | ((H ^ K) >> 19)) * 5 + 0xE6546B64) ^ BYTES;                           \
    H = (H ^ (H >> 16)) * 0x85EBCA6B;                                                             \
    H = (H ^ (H >> 13)) * 0xC2B2AE35;                                                             \
    H = H ^ (H >> 16);

// A hash as a number below SIZE.
#define REDUCE(H, SIZE) (bit<32>)(((bit<64>)H * (bit<64>)(SIZE)) >> 32)

#endif
