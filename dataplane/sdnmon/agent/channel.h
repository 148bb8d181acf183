/* SPDX-License-Identifier: Apache-2.0 */
/* An OpenFlow channel: the connection of a switch, that to its controller, and what the agent does
 * between them. */
#pragma once

#include "loop.h"
#include "peer.h"
#include "session.h"

struct channel {
	struct channel *next;
	struct loop *loop;
	struct watch watches[2]; /* by `enum end` */
	struct peer peers[2];
	struct session session;
	struct monitoring *monitoring;
	const char *name; /* of the controller, for complaints */
	__u64 hello[2]; /* versions that an end can, a bit each; 0: it has not said so yet */
	bool has_bitmap[2];
	bool has_begun[2]; /* its first message was there */
	__u64 hello_ends; /* bytes of the controller, up to its HELLO's end */
	__u8 version; /* of OpenFlow, when both have said HELLO; 0: messages just pass */
	bool has_asked; /* for the switch's ports */
	bool asks; /* and waits for the reply */
	struct port_list described; /* by the part of it that has come */
	__u32 xid; /* of that request */
	__u64 opened_ns, asked_ns, ended_ns;
	bool lingers; /* one end is gone, and the other one is awaited */
	bool closed; /* it can be freed */
};

enum end {
	SWITCH,
	CONTROLLER,
};

/* A channel of these sockets, which are its own from now on; they may connect still.
 * NULL after complain(). */
struct channel *channel_open(struct loop *loop, struct monitoring *monitoring, int to_switch,
			     int to_controller, const char *name);

/* Do what can be done without waiting. */
void channel_serve(struct channel *channel);

/* Has the switch said nothing yet? */
bool channel_is_idle(const struct channel *channel);

void channel_free(struct channel *channel);
