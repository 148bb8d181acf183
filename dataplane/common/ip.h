/* SPDX-License-Identifier: Apache-2.0 */
/* What parsers of IP share, in BPF and in userspace. Include <linux/in.h> or <netinet/in.h> first:
 * they exclude each other. */
#pragma once

#include <linux/types.h>

#define IP_FRAGMENT 0x3fff /* of IPv4: more fragments, or an offset */
#define IP_OFFSET 0x1fff /* an offset alone: a later fragment */

/* Do the headers of this protocol begin with two ports? */
static inline int has_ports(__u8 protocol)
{
	return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP || protocol == IPPROTO_DCCP ||
	       protocol == IPPROTO_SCTP || protocol == IPPROTO_UDPLITE;
}

/* Return the number of 16 bits in network byte order at this place. */
static inline __u16 be16(const __u8 *at)
{
	return (__u16)(at[0] << 8 | at[1]);
}
