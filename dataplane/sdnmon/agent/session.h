/* SPDX-License-Identifier: Apache-2.0 */
/* The session of a controller: what it asks SDN-Mon on a connection, and how that is answered. */
#pragma once

#include "monitoring.h"
#include "output.h"
#include "statistics.h"

/* The part of a channel that answers its controller. */
struct session {
	struct output *output; /* of the controller's end: answers are appended here */
	struct statistics statistics;
	bool wants_notifications; /* the controller has asked for features */
	__u8 version; /* of OpenFlow */
};

/* Do what a message of SDN-Mon asks for, and answer it. The output must have room. */
void session_answer(struct session *session, struct monitoring *monitoring, const __u8 *message,
		    size_t bytes);

/* Append a notification. Returns -1 if there is no room, because the controller does not read. */
int session_notify(struct session *session, const struct sdnmon_event *event);
