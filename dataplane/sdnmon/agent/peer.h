/* SPDX-License-Identifier: Apache-2.0 */
/* One end of a channel: the connection of a switch, or that to its controller. What comes from it is kept
 * until the other end has taken it; only whole messages go on. */
#pragma once

#include "output.h"

#define PEER_INPUT_BYTES (256 * 1024) /* several of the longest messages */

struct peer {
	int fd;
	bool connecting;
	bool ended; /* nothing comes any more */
	bool mute; /* it takes nothing any more */
	bool blocked; /* it takes nothing now */
	bool hung; /* the kernel reports its end all the time: it is not asked */
	__u32 interest; /* of epoll */
	/* From `start` messages go on, up to `examined`. */
	__u8 *input;
	size_t start, examined, end;
	__u64 passed; /* bytes that the other end has taken */
	struct output own; /* messages of the agent for this end */
	/* What is being sent to it: so many more bytes of its own messages, or of the other's input. */
	size_t sending;
	bool sends_own;
};

/* Takes the socket. 0, or -1 without memory. */
int peer_open(struct peer *peer, int fd, bool connecting);
void peer_close(struct peer *peer);

bool peer_can_read(const struct peer *peer);

/* Read once. Whether something came, or the end. */
bool peer_read(struct peer *peer);

/* The message that was not examined yet, if it is whole: its length, 0 if there is none, -1 if none can
 * be so short. */
int peer_next(const struct peer *peer, const __u8 **message);

/* It goes on; or it was taken out, for which nothing may be before it. */
void peer_pass(struct peer *peer, size_t bytes);
void peer_take(struct peer *peer, size_t bytes);

/* Forget what came. */
void peer_clear(struct peer *peer);

/* Send the messages of `from`, and the agent's own, in turns, until the kernel takes no more. Bytes that
 * were sent. */
size_t peer_send(struct peer *peer, struct peer *from);

bool peer_has_to_send(const struct peer *peer, const struct peer *from);
