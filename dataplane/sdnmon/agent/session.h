/* SPDX-License-Identifier: Apache-2.0 */
/* What a controller asks of SDN-Mon on a connection, and what it is answered. */
#pragma once

#include "monitoring.h"
#include "output.h"
#include "statistics.h"

struct session {
	struct output *output; /* to the controller */
	struct statistics statistics;
	bool wants_notifications; /* it has asked for features */
	__u8 version; /* of OpenFlow */
};

/* Do what a message of SDN-Mon asks for, and answer it; the output has room. */
void session_answer(struct session *session, struct monitoring *monitoring, const __u8 *message,
		    size_t bytes);

/* Append a notification. -1: there is no room, as the controller does not read. */
int session_notify(struct session *session, const struct sdnmon_event *event);
