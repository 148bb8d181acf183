/* SPDX-License-Identifier: Apache-2.0 */
/* One end of a channel: the connection of a switch, or the one to its controller. What comes
 * from it is kept until the other end has taken it. Only whole messages go on. */
#pragma once

#include "output.h"

#define PEER_INPUT_BYTES (256 * 1024) /* room for several of the longest messages */

struct peer {
	int fd;
	bool connecting;
	bool ended; /* nothing comes any more */
	bool mute; /* it takes nothing any more */
	bool blocked; /* it takes nothing at the moment */
	bool hung; /* the kernel reports its end all the time, so it is not asked any more */
	__u32 interest; /* events of epoll that are waited for */
	/* Input that has come up to `end`. Messages between `start` and `examined` wait to go on to
	 * the other end; what is behind them was not examined yet. */
	__u8 *input;
	size_t start, examined, end;
	__u64 passed; /* bytes of its messages that the other end has taken since the start */
	struct output own; /* messages of the agent for this end */
	/* What is being sent to this end: so many more bytes, of the agent's messages
	 * (`sends_own`) or of the other end's input. */
	size_t sending;
	bool sends_own;
};

/* Make a peer of a socket, which it owns from now on. Returns 0, or -1 without memory. */
int peer_open(struct peer *peer, int fd, bool connecting);
void peer_close(struct peer *peer);

/* Can more come, and is there room for it? */
bool peer_can_read(const struct peer *peer);

/* Read once. Returns whether something came, or the end did. */
bool peer_read(struct peer *peer);

/* Find the first message that was not examined yet. Returns its length, 0 if it is not whole yet,
 * or -1 if its length is impossible. */
int peer_next(const struct peer *peer, const __u8 **message);

/* Have the examined message go on (pass), or take it out (take). It can be taken out only when no
 * message before it waits, because input is removed from the front. */
void peer_pass(struct peer *peer, size_t bytes);
void peer_take(struct peer *peer, size_t bytes);

/* Forget all input. */
void peer_clear(struct peer *peer);

/* Send the messages of `from` and the agent's own, in turns, until the kernel takes no more.
 * Returns how many bytes were sent. */
size_t peer_send(struct peer *peer, struct peer *from);

/* Does anything wait to be sent to this end? */
bool peer_has_to_send(const struct peer *peer, const struct peer *from);
