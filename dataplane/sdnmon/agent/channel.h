/* SPDX-License-Identifier: Apache-2.0 */
/* An OpenFlow channel: the connection of a switch, the one to its controller, and what the agent
 * does between them. */
#pragma once

#include "loop.h"
#include "peer.h"
#include "session.h"

/* A channel from its first connection to its end. channel_serve() is called when an end is ready,
 * and now and then. It sets `closed` at last, and whoever keeps the list frees the channel. */
struct channel {
	struct channel *next; /* in the list of struct relays */
	struct loop *loop;
	struct watch watches[2]; /* by `enum end` */
	struct peer peers[2];
	struct session session;
	struct monitoring *monitoring;
	const char *name; /* of the controller, for complaints */
	__u64 hello[2]; /* versions that an end can speak, a bit each; 0: it has not said so yet */
	bool has_bitmap[2];
	bool has_begun[2]; /* its first message has come */
	__u64 hello_ends; /* bytes that come from the controller up to the end of its HELLO */
	__u8 version; /* of OpenFlow, when both have said HELLO; 0: messages only pass */
	bool has_asked; /* has the agent asked the switch for its ports? */
	bool asks; /* does the agent wait for the reply? */
	struct port_list described; /* the part of that reply that has come */
	__u32 xid; /* of that request */
	/* CLOCK_MONOTONIC. `ended_ns`: when the first end ended; 0: none has. */
	__u64 opened_ns, asked_ns, ended_ns;
	bool lingers; /* one end is gone, and the end of the other one is awaited */
	bool closed; /* it can be freed */
};

enum end {
	SWITCH,
	CONTROLLER,
};

/* Make a channel of these sockets, which may still be connecting. It owns them from now on.
 * Returns NULL after complain(). */
struct channel *channel_open(struct loop *loop, struct monitoring *monitoring, int to_switch,
			     int to_controller, const char *name);

/* Do all that can be done without waiting. */
void channel_serve(struct channel *channel);

/* Is it open, and has its switch said nothing yet? */
bool channel_is_idle(const struct channel *channel);

void channel_free(struct channel *channel);
