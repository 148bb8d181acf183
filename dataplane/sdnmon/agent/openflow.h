/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent reads and writes of OpenFlow 1.3 and later, and the messages of SDN-Mon
 * (docs/reference/sdn-mon-messages.md). Numbers are big-endian and may be anywhere. */
#pragma once

#include <endian.h>
#include <string.h>

#include <linux/types.h>

#define OPENFLOW_HEADER 8
#define OPENFLOW_LONGEST 65535
#define OPENFLOW_1_3 4
#define OPENFLOW_1_5 6

enum openflow_type {
	OFPT_HELLO = 0,
	OFPT_ERROR = 1,
	OFPT_EXPERIMENTER = 4,
	OFPT_PORT_STATUS = 12,
	OFPT_MULTIPART_REQUEST = 18,
	OFPT_MULTIPART_REPLY = 19,
};

#define OFPHET_VERSIONBITMAP 1
#define OFPET_EXPERIMENTER 0xffff
#define OFPMP_PORT_DESC 13
#define OFPMP_REPLY_MORE 1
#define OFPPR_DELETE 1
#define OFPP_LOCAL 0xfffffffeU
#define OFPP_ANY 0xffffffffU

#define SDNMON_EXPERIMENTER 0x004e534dU
#define SDNMON_HEADER 16 /* length of an experimenter message's header */
#define SDNMON_FORMATS 1 /* version of the formats */
#define SDNMON_REPLY 0x8000U

/* The exp_type of each message. Up to SDNMON_MESSAGES they are requests; a reply has SDNMON_REPLY
 * as well. */
enum sdnmon_message {
	SDNMON_FEATURES_REQUEST,
	SDNMON_MODE_ON,
	SDNMON_MODE_OFF,
	SDNMON_RESET_TABLE,
	SDNMON_ADD_ENTRIES,
	SDNMON_REMOVE_ENTRIES,
	SDNMON_SET_SAMPLING_RATIO,
	SDNMON_SET_QUERY_TIME_INTERVAL,
	SDNMON_SET_OVERFLOW_NOTIFICATION_THRESHOLD,
	SDNMON_SET_LIMIT,
	SDNMON_PRUNE,
	SDNMON_STATUS_REQUEST,
	SDNMON_STATISTICS_REQUEST,
	SDNMON_MESSAGES,
	SDNMON_OVERFLOW_NOTIFICATION = 0x4000,
};

/* Codes of the errors with which the agent refuses requests. */
enum sdnmon_error {
	SDNMON_BAD_MESSAGE = 1,
	SDNMON_BAD_VALUE,
	SDNMON_IS_OFF,
	SDNMON_IS_ON,
	SDNMON_REFUSED,
	SDNMON_BUSY,
};

/* get16() and so on read a number; put16() and so on write one, and return the place behind it. */
#define DEFINE_NUMBER(bits)                                                                        \
	static inline __u##bits get##bits(const __u8 *from)                                        \
	{                                                                                          \
		__u##bits value;                                                                   \
                                                                                                   \
		memcpy(&value, from, sizeof(value));                                               \
		return be##bits##toh(value);                                                       \
	}                                                                                          \
                                                                                                   \
	static inline __u8 *put##bits(__u8 *to, __u##bits value)                                   \
	{                                                                                          \
		value = htobe##bits(value);                                                        \
		memcpy(to, &value, sizeof(value));                                                 \
		return to + sizeof(value);                                                         \
	}

DEFINE_NUMBER(16)
DEFINE_NUMBER(32)
DEFINE_NUMBER(64)

#undef DEFINE_NUMBER

/* Write the header of a message of any type. Returns the place behind it. */
static inline __u8 *put_header(__u8 *to, __u8 version, enum openflow_type type, size_t bytes,
			       __u32 xid)
{
	to[0] = version;
	to[1] = (__u8)type;
	put16(to + 2, (__u16)bytes);
	return put32(to + 4, xid);
}
