/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Network Service Header (RFC 8300) and its VXLAN-GPE framing, for BPF and userspace alike.
 *
 * Structures are made of bytes, so that there is neither an alignment nor a byte order to mind.
 * Functions judge scalars ("so many bytes are there"), which a BPF verifier follows easily; the
 * caller makes sure that the bytes of a structure are readable before it hands it over.
 */
#pragma once

#include <linux/types.h>

#define NSH_ETHERTYPE 0x894f
#define NSH_VERSION 0
#define NSH_DEFAULT_TTL 63 /* recommended by RFC 8300 section 2.2 */
#define NSH_WORD 4 /* the unit of the length field, bytes */
#define NSH_MD1_WORDS 6 /* length field of MD type 1 */
#define NSH_MD1_BYTES 16 /* context of MD type 1 */
#define NSH_MD2_MIN_WORDS 2
#define NSH_MAX_BYTES (0x3f * NSH_WORD)

#define VXLAN_GPE_UDP_PORT 4790
#define VXLAN_GPE_NEXT_ETHERNET 3
#define VXLAN_GPE_NEXT_NSH 4
#define VXLAN_GPE_FLAG_INSTANCE 0x08
#define VXLAN_GPE_FLAG_NEXT_PROTOCOL 0x04
#define VXLAN_GPE_VERSION_MASK 0x30

enum nsh_md_type {
	NSH_MD_TYPE_1 = 1,
	NSH_MD_TYPE_2 = 2,
};

/* RFC 8300 section 2.2, IANA registry "NSH Next Protocol". */
enum nsh_next_protocol {
	NSH_NEXT_IPV4 = 1,
	NSH_NEXT_IPV6 = 2,
	NSH_NEXT_ETHERNET = 3,
	NSH_NEXT_NSH = 4,
	NSH_NEXT_MPLS = 5,
};

/* Why a header is malformed; the names are those of the Python codec's NshError.reason. */
enum nsh_error {
	NSH_OK,
	NSH_ERROR_TRUNCATED, /* fewer bytes than the header says, or than any header has */
	NSH_ERROR_VERSION, /* not 0 */
	NSH_ERROR_MD_TYPE, /* neither 1 nor 2 */
	NSH_ERROR_LENGTH, /* length field does not fit the MD type */
};

/*
 *  |Ver|O|U|    TTL    |   Length  |U|U|U|U|MD Type| Next Protocol |
 *  |          Service Path Identifier (SPI)        | Service Index |
 */
struct nsh_hdr {
	__u8 ver_o_ttl;
	__u8 ttl_length;
	__u8 md_type;
	__u8 next_protocol;
	__u8 spi[3];
	__u8 si;
};

/* Variable-length context header of MD type 2 (RFC 8300 section 2.5.1). `length` bytes follow
 * it, padded to a word. */
struct nsh_context_hdr {
	__u8 md_class[2];
	__u8 type;
	__u8 length;
};

/* |R|R|Ver|I|P|B|O| Reserved (16) | Next Protocol |  VNI (24) | Reserved (8) | */
struct vxlan_gpe_hdr {
	__u8 flags;
	__u8 reserved1[2];
	__u8 next_protocol;
	__u8 vni[3];
	__u8 reserved2;
};

static inline __u8 nsh_version(const struct nsh_hdr *nsh)
{
	return nsh->ver_o_ttl >> 6;
}

static inline int nsh_is_oam(const struct nsh_hdr *nsh)
{
	return (nsh->ver_o_ttl & 0x20) != 0;
}

static inline __u8 nsh_ttl(const struct nsh_hdr *nsh)
{
	return (__u8)((nsh->ver_o_ttl & 0x0f) << 2 | nsh->ttl_length >> 6);
}

/* Return the length of the whole header in bytes (the field counts words). */
static inline __u32 nsh_bytes(const struct nsh_hdr *nsh)
{
	return (__u32)(nsh->ttl_length & 0x3f) * NSH_WORD;
}

static inline __u8 nsh_md_type(const struct nsh_hdr *nsh)
{
	return nsh->md_type & 0x0f;
}

static inline __u32 nsh_spi(const struct nsh_hdr *nsh)
{
	return (__u32)nsh->spi[0] << 16 | (__u32)nsh->spi[1] << 8 | nsh->spi[2];
}

static inline void nsh_set_ttl(struct nsh_hdr *nsh, __u8 ttl)
{
	nsh->ver_o_ttl = (__u8)((nsh->ver_o_ttl & 0xf0) | (ttl >> 2 & 0x0f));
	nsh->ttl_length = (__u8)(ttl << 6 | (nsh->ttl_length & 0x3f));
}

/* Write the base header and the service path header. Unassigned bits are zero (RFC 8300 section
 * 2.2). */
static inline void nsh_init(struct nsh_hdr *nsh, int oam, __u8 ttl, __u8 words, __u8 md_type,
			    __u8 next_protocol, __u32 spi, __u8 si)
{
	nsh->ver_o_ttl = (__u8)(NSH_VERSION << 6 | (oam ? 0x20 : 0) | (ttl >> 2 & 0x0f));
	nsh->ttl_length = (__u8)(ttl << 6 | (words & 0x3f));
	nsh->md_type = md_type & 0x0f;
	nsh->next_protocol = next_protocol;
	nsh->spi[0] = (__u8)(spi >> 16);
	nsh->spi[1] = (__u8)(spi >> 8);
	nsh->spi[2] = (__u8)spi;
	nsh->si = si;
}

/* Is this a header that an implementation of MD types 1 and 2 understands? `available` counts
 * the bytes from its start to the end of the packet. The first 8 of them must be readable. */
static inline enum nsh_error nsh_check(const struct nsh_hdr *nsh, __u32 available)
{
	__u32 bytes;

	if (available < sizeof(*nsh))
		return NSH_ERROR_TRUNCATED;
	if (nsh_version(nsh) != NSH_VERSION)
		return NSH_ERROR_VERSION;
	bytes = nsh_bytes(nsh);
	switch (nsh_md_type(nsh)) {
	case NSH_MD_TYPE_1:
		if (bytes != NSH_MD1_WORDS * NSH_WORD)
			return NSH_ERROR_LENGTH;
		break;
	case NSH_MD_TYPE_2:
		if (bytes < NSH_MD2_MIN_WORDS * NSH_WORD)
			return NSH_ERROR_LENGTH;
		break;
	default:
		return NSH_ERROR_MD_TYPE;
	}
	return bytes > available ? NSH_ERROR_TRUNCATED : NSH_OK;
}

static inline __u16 nsh_context_class(const struct nsh_context_hdr *context)
{
	return (__u16)(context->md_class[0] << 8 | context->md_class[1]);
}

/* Return the length of a context header's value, without padding. The unassigned top bit is
 * ignored on receipt. */
static inline __u8 nsh_context_length(const struct nsh_context_hdr *context)
{
	return context->length & 0x7f;
}

/* Return how many bytes a context header takes in the NSH: itself, its value and padding. */
static inline __u32 nsh_context_bytes(const struct nsh_context_hdr *context)
{
	__u32 value = nsh_context_length(context);

	return (__u32)sizeof(*context) + (value + NSH_WORD - 1) / NSH_WORD * NSH_WORD;
}

static inline __u32 vxlan_gpe_vni(const struct vxlan_gpe_hdr *gpe)
{
	return (__u32)gpe->vni[0] << 16 | (__u32)gpe->vni[1] << 8 | gpe->vni[2];
}

/* Does a VXLAN-GPE header say that this protocol follows? It must have version 0, and the flags I
 * and P (draft-ietf-nvo3-vxlan-gpe section 3). */
static inline int vxlan_gpe_carries(const struct vxlan_gpe_hdr *gpe, __u8 next_protocol)
{
	const __u8 wanted = VXLAN_GPE_FLAG_INSTANCE | VXLAN_GPE_FLAG_NEXT_PROTOCOL;

	return (gpe->flags & (VXLAN_GPE_VERSION_MASK | wanted)) == wanted &&
	       gpe->next_protocol == next_protocol;
}

static inline int vxlan_gpe_carries_nsh(const struct vxlan_gpe_hdr *gpe)
{
	return vxlan_gpe_carries(gpe, VXLAN_GPE_NEXT_NSH);
}
