/* SPDX-License-Identifier: Apache-2.0 */
/* What capture.c, and the readers of pcap and of pcapng, share. */
#pragma once

#include "capture.h"

/* Say whether a pcap file begins with these 4 bytes. */
bool pcap_recognised(const uint8_t *head);

/* Each reads the beginning of its format, and sets `next`. Returns false after complain(). */
bool pcap_begin(struct capture *capture);
bool pcapng_begin(struct capture *capture);

/* Read a number that is in the byte order of the file, at any address. */

static inline uint16_t capture_u16(const struct capture *capture, const uint8_t *bytes)
{
	uint16_t number;

	memcpy(&number, bytes, sizeof(number));
	return capture->swapped ? __builtin_bswap16(number) : number;
}

static inline uint32_t capture_u32(const struct capture *capture, const uint8_t *bytes)
{
	uint32_t number;

	memcpy(&number, bytes, sizeof(number));
	return capture->swapped ? __builtin_bswap32(number) : number;
}

static inline uint64_t capture_u64(const struct capture *capture, const uint8_t *bytes)
{
	uint64_t number;

	memcpy(&number, bytes, sizeof(number));
	return capture->swapped ? __builtin_bswap64(number) : number;
}
