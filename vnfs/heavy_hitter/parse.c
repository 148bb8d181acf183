// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include <linux/if_ether.h>
#include <linux/in.h>
#include <rte_byteorder.h>

#include "../../dataplane/common/ip.h"
#include "../../dataplane/nsh/nsh.h"
#include "parse.h"

#define ETHERNET_BYTES 14
#define VLAN_BYTES 4
#define IPV4_BYTES 20
#define IPV6_BYTES 40
#define UDP_BYTES 8
#define GPE_BYTES 8
#define NSH_BYTES 8
#define NSH_WORD_BYTES 4
#define PORTS_BYTES 4
#define MOST_VLANS 2

struct rest {
	uint8_t *at, *end;
};

static inline uint32_t left(struct rest rest)
{
	return (uint32_t)(rest.end - rest.at);
}

static inline uint32_t be32(const uint8_t *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return rte_be_to_cpu_32(word);
}

static inline uint64_t be64(const uint8_t *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return rte_be_to_cpu_64(word);
}

/* Ports of a packet that announces so many bytes for its payload. */
static inline bool take_ports(struct rest rest, uint32_t announced, struct flow_key *key)
{
	if (left(rest) < PORTS_BYTES || announced < PORTS_BYTES)
		return false;
	key->ports = be32(rest.at);
	return true;
}

static inline bool take_ipv4(struct rest rest, struct flow_key *key)
{
	const uint8_t *ip = rest.at;
	uint32_t header, total;

	if (left(rest) < IPV4_BYTES)
		return false;
	header = (ip[0] & 0x0fU) * 4;
	total = be16(ip + 2);
	if (ip[0] >> 4 != 4 || header < IPV4_BYTES || total < header || left(rest) < header)
		return false;
	*key = (struct flow_key){
		.source_low = be32(ip + 12),
		.destination_low = be32(ip + 16),
		.protocol = 4 << 8 | ip[9],
	};
	rest.at += header;
	if (!has_ports(ip[9]) || be16(ip + 6) & IP_FRAGMENT)
		return true;
	return take_ports(rest, total - header, key);
}

static inline bool take_ipv6(struct rest rest, struct flow_key *key)
{
	const uint8_t *ip = rest.at;

	if (left(rest) < IPV6_BYTES || ip[0] >> 4 != 6)
		return false;
	*key = (struct flow_key){
		.source_high = be64(ip + 8),
		.source_low = be64(ip + 16),
		.destination_high = be64(ip + 24),
		.destination_low = be64(ip + 32),
		.protocol = 6 << 8 | ip[6],
	};
	rest.at += IPV6_BYTES;
	return !has_ports(ip[6]) || take_ports(rest, be16(ip + 4), key);
}

/* Take VLAN tags: at most so many. */
static inline bool take_vlans(struct rest *rest, uint16_t *ethertype, unsigned int most,
			      bool service_tag)
{
	bool first = true;

	while (most-- && (*ethertype == ETH_P_8021Q ||
			  (first && service_tag && *ethertype == ETH_P_8021AD))) {
		if (left(*rest) < VLAN_BYTES)
			return false;
		*ethertype = be16(rest->at + 2);
		rest->at += VLAN_BYTES;
		first = false;
	}
	return true;
}

static inline bool take_ip(struct rest rest, uint16_t ethertype, struct parsed *parsed)
{
	parsed->ip = rest.at;
	if (ethertype == ETH_P_IP)
		return take_ipv4(rest, &parsed->key);
	return ethertype == ETH_P_IPV6 && take_ipv6(rest, &parsed->key);
}

static inline bool take_payload(struct rest rest, uint8_t next_protocol, struct parsed *parsed)
{
	uint16_t ethertype;

	if (next_protocol == NSH_NEXT_IPV4 || next_protocol == NSH_NEXT_IPV6)
		return take_ip(rest, next_protocol == NSH_NEXT_IPV4 ? ETH_P_IP : ETH_P_IPV6,
			       parsed);
	if (next_protocol != NSH_NEXT_ETHERNET || left(rest) < ETHERNET_BYTES)
		return false;
	ethertype = be16(rest.at + 12);
	rest.at += ETHERNET_BYTES;
	return take_vlans(&rest, &ethertype, 1, false) && take_ip(rest, ethertype, parsed);
}

static enum counter check_nsh(struct rest rest)
{
	const struct nsh_hdr *nsh = (const void *)rest.at;

	switch (nsh_check(nsh, left(rest))) {
	case NSH_OK:
		break;
	case NSH_ERROR_VERSION:
		return COUNT_VERSION;
	case NSH_ERROR_MD_TYPE:
		return COUNT_MD_TYPE;
	case NSH_ERROR_LENGTH:
		return COUNT_LENGTH;
	default:
		return COUNT_TRUNCATED;
	}
	if (nsh_is_oam(nsh))
		return COUNT_OAM;
	if (nsh->si <= 1)
		return nsh->si ? COUNT_SI_EXHAUSTED : COUNT_SI_ZERO;
	return COUNT_FORWARDED;
}

static enum counter take_nsh(struct rest rest, struct parsed *parsed)
{
	const struct nsh_hdr *nsh = (const void *)rest.at;
	enum counter reason = check_nsh(rest);

	if (reason != COUNT_FORWARDED)
		return reason;
	parsed->nsh = rest.at;
	rest.at += nsh_bytes(nsh);
	parsed->monitored = take_payload(rest, nsh->next_protocol, parsed);
	return COUNT_FORWARDED;
}

static inline bool is_tunnel(struct rest rest)
{
	const uint8_t *ip = rest.at;

	return left(rest) >= IPV4_BYTES + PORTS_BYTES && ip[0] == 0x45 && ip[9] == IPPROTO_UDP &&
	       !(be16(ip + 6) & IP_FRAGMENT) && be16(ip + IPV4_BYTES + 2) == VXLAN_GPE_UDP_PORT;
}

static enum counter take_tunnel(struct rest rest, struct parsed *parsed)
{
	const struct vxlan_gpe_hdr *gpe;
	uint32_t udp_bytes;

	parsed->tunnel = rest.at;
	rest.at += IPV4_BYTES;
	gpe = (const void *)(rest.at + UDP_BYTES);
	if (left(rest) < UDP_BYTES + GPE_BYTES)
		return COUNT_TRUNCATED;
	udp_bytes = be16(rest.at + 4);
	if (!vxlan_gpe_carries_nsh(gpe))
		return COUNT_ENCAPSULATION;
	if (udp_bytes > left(rest) || udp_bytes < UDP_BYTES + GPE_BYTES)
		return COUNT_TRUNCATED;
	rest.end = rest.at + udp_bytes;
	rest.at += UDP_BYTES + GPE_BYTES;
	return take_nsh(rest, parsed);
}

enum counter parse_frame(uint8_t *frame, uint32_t bytes, bool nsh_only, uint64_t mac,
			 struct parsed *parsed)
{
	struct rest rest = { frame, frame + bytes };
	uint16_t ethertype;

	*parsed = (struct parsed){ 0 };
	if (bytes < ETHERNET_BYTES)
		return COUNT_TRUNCATED;
	if (mac && ((uint64_t)be16(frame) << 32 | be32(frame + 2)) != mac)
		return COUNT_PASSED;
	ethertype = be16(frame + 12);
	rest.at += ETHERNET_BYTES;
	if (!take_vlans(&rest, &ethertype, MOST_VLANS, true))
		return COUNT_TRUNCATED;
	if (ethertype == NSH_ETHERTYPE)
		return take_nsh(rest, parsed);
	if (ethertype == ETH_P_IP && is_tunnel(rest))
		return take_tunnel(rest, parsed);
	if (!nsh_only)
		parsed->monitored = take_ip(rest, ethertype, parsed);
	return nsh_only ? COUNT_PASSED : COUNT_FORWARDED;
}
