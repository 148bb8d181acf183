/* SPDX-License-Identifier: Apache-2.0 */
/* Extension headers of IPv6 that are skipped to find the transport header (RFC 8200, RFC 4302). */
#pragma once

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/types.h>

/* The fragment header. All extension headers begin with what comes next; where this one has a
 * reserved byte, the others have their length. */
struct ipv6_fragment {
	__u8 nexthdr;
	__u8 reserved;
	__be16 offset; /* in units of 8 bytes, then 3 bits of flags */
	__be32 identification;
};

/* Return how many bytes an extension header of this protocol takes; 0 if the protocol is none that
 * is skipped. `length` is the second byte of the header. */
static __always_inline __u32 ipv6_extension_bytes(__u8 protocol, __u8 length)
{
	switch (protocol) {
	case IPPROTO_HOPOPTS:
	case IPPROTO_ROUTING:
	case IPPROTO_DSTOPTS:
		return (length + 1) * 8;
	case IPPROTO_FRAGMENT:
		return sizeof(struct ipv6_fragment);
	case IPPROTO_AH:
		return (length + 2) * 4;
	default:
		return 0;
	}
}
