// SPDX-License-Identifier: Apache-2.0
/* Fuzzer: the headers of a frame, read as a network function reads them. */
#include "fuzz.h"
#include "../packet/headers.h"

static volatile uint8_t latest; /* volatile, so that the compiler does read the bytes */

/* Read what a network function may read of a header that was taken. The sanitizers end the program
 * unless it is within the frame. */
static void read_bytes(const uint8_t *at, uint32_t bytes)
{
	while (bytes--)
		latest = *at++;
}

/* Report a finding if this is false. */
static void check(bool right)
{
	if (!right)
		abort();
}

/* Take the headers from IP on, and read them. `kinds` are of enum extension. */
static void walk_ip(struct cursor cursor, uint16_t ethertype, unsigned int kinds)
{
	struct cursor ports;
	const uint8_t *start = cursor.at;
	enum header header;
	uint32_t bytes;
	struct ip ip;

	if (!is_ip(ethertype))
		return;
	header = ethertype == ETH_P_IP ? take_ipv4(&cursor, &ip) : take_ipv6(&cursor, &ip);
	if (header != HEADER_TAKEN)
		return;
	read_bytes(ip.addresses, ip.version == 4 ? 8 : 32);
	ports = cursor;
	if (check_ports(ports, &ip) == HEADER_TAKEN)
		read_bytes(ports.at, PORTS_BYTES);
	/* The last extension header may reach beyond the frame, which peek() tells. */
	if (ip.version == 6 &&
	    (take_extensions(&cursor, &ip, kinds, 6, IPV6_FRAGMENT) != HEADER_TAKEN ||
	     !peek(&cursor, 0)))
		return;
	check(cursor.at == start + ip.header_bytes);
	if (check_transport(cursor, &ip, &bytes) == HEADER_TAKEN) {
		read_bytes(cursor.at, ip.protocol == IPPROTO_TCP ? TCP_BYTES : UDP_BYTES);
		check(bytes <= ip.payload_bytes);
	}
}

/* Take an NSH and what it carries, and read them. */
static void walk_nsh(struct cursor cursor, unsigned int kinds)
{
	const uint8_t *start = cursor.at;
	const struct nsh_hdr *nsh = (const void *)start;
	uint16_t ethertype;

	if (take_nsh(&cursor) != NSH_OK)
		return;
	read_bytes(start, nsh_bytes(nsh));
	check(cursor.at == start + nsh_bytes(nsh));
	if (take_carried(&cursor, nsh->next_protocol, &ethertype) == HEADER_TAKEN &&
	    take_tags(&cursor, &ethertype, TAG_CUSTOMER, 1))
		walk_ip(cursor, ethertype, kinds);
}

/* The first byte says which tags and extension headers are taken, and how many tags. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cursor cursor;
	uint16_t ethertype;
	unsigned int most;

	if (size < 1)
		return 0;
	cursor = (struct cursor){ data + 1, data + size };
	most = data[0] & 0x80 ? TAGS_UNLIMITED : data[0] >> 4;
	if (!take_ethernet(&cursor, &ethertype) ||
	    !take_tags(&cursor, &ethertype, data[0] & TAG_ANY, most))
		return 0;
	if (ethertype == NSH_ETHERTYPE || take_tunnel(&cursor, ethertype) == HEADER_TAKEN)
		walk_nsh(cursor, data[0]);
	else
		walk_ip(cursor, ethertype, data[0]);
	return 0;
}
