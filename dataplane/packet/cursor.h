/* SPDX-License-Identifier: Apache-2.0 */
/* A place in a packet whose bytes can be read directly. */
#pragma once

#include <stddef.h>

#include <linux/types.h>
#ifdef __bpf__
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#endif

/* A place in a packet. */
struct cursor {
	const __u8 *at;
	const __u8 *end; /* of what was captured; the packet itself may be longer */
};

static inline __u32 bytes_left(struct cursor cursor)
{
	return (__u32)(cursor.end - cursor.at);
}

/* Return the bytes at the cursor, which stays there; NULL if there are not so many. */
static __always_inline const __u8 *peek(const struct cursor *cursor, __u32 bytes)
{
#ifdef __bpf__ /* what the verifier follows */
	return cursor->at + bytes <= cursor->end ? cursor->at : NULL;
#else
	return cursor->end - cursor->at >= (ptrdiff_t)bytes ? cursor->at : NULL;
#endif
}
