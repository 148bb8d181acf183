/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of SDN-Mon: what they say. Reading them does nothing yet, and takes nothing for
 * granted. */
#pragma once

#include "../fields.h"
#include "../program.h"
#include "openflow.h"

struct request {
	__u8 version; /* of OpenFlow */
	__u32 xid;
	__u32 type; /* enum sdnmon_message, if the type is known */
	const __u8 *content; /* what follows the header, in the message */
	size_t bytes; /* of the content */
};

/* Why a request is refused. */
struct refusal {
	enum sdnmon_error code;
	char text[256];
};

/* Read the header of an experimenter message of SDN-Mon, and check its type and length. Returns
 * 0, or -1 with the refusal. */
int request_read(const __u8 *message, size_t bytes, struct request *request,
		 struct refusal *refusal);

/* Read the settings of MODE_ON and RESET_TABLE. The keys of the hash are left to the caller:
 * `*has_secret` says whether `*secret` was given. Returns 0, or -1 with the refusal. */
int request_settings(const struct request *request, struct settings *settings, bool *has_secret,
		     __u64 *secret, struct refusal *refusal);

/* Check that keys of ADD_ENTRIES and REMOVE_ENTRIES are possible in this table. Returns their
 * number, or -1 with the refusal. */
int request_keys(const struct request *request, const struct sdnmon_config *config,
		 struct refusal *refusal);

/* Copy one of the keys that were checked, by its number from 0 on. */
void request_key(const struct request *request, const struct sdnmon_config *config, int number,
		 struct sdnmon_key *key);

/* Read the number of a request that sets one, and check its range. A refusal calls it `what`.
 * Returns 0, or -1 with the refusal. */
int request_number(const struct request *request, __u64 least, __u64 most, const char *what,
		   __u64 *number, struct refusal *refusal);

/* Write down why a request is refused. Returns -1, for the caller to return. */
int refuse_request(struct refusal *refusal, enum sdnmon_error code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
