/* SPDX-License-Identifier: Apache-2.0 */
/* A place in a captured packet. */
#pragma once

#include <stdint.h>

struct cursor {
	const uint8_t *at;
	const uint8_t *end; /* of what was captured; the packet itself may be longer */
};

static inline uint32_t bytes_left(struct cursor cursor)
{
	return (uint32_t)(cursor.end - cursor.at);
}
