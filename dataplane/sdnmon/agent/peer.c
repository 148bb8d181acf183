// SPDX-License-Identifier: Apache-2.0
/* Reads and sends the messages of one end of a channel. */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "peer.h"

#define LEAST_READ 4096

int peer_open(struct peer *peer, int fd, bool connecting)
{
	*peer = (struct peer){
		.fd = fd,
		.connecting = connecting,
		.blocked = connecting,
		.input = malloc(PEER_INPUT_BYTES),
	};
	return peer->input && output_open(&peer->own) == 0 ? 0 : -1;
}

void peer_close(struct peer *peer)
{
	if (peer->fd >= 0)
		close(peer->fd);
	free(peer->input);
	output_close(&peer->own);
}

/* --- input --- */

bool peer_can_read(const struct peer *peer)
{
	/* There is room, or make_room() will make some. */
	return !peer->ended && !peer->connecting &&
	       (PEER_INPUT_BYTES - peer->end >= LEAST_READ || peer->start >= PEER_INPUT_BYTES / 2);
}

/* Move the input to the front, once half of the room is used. The other half is more than the
 * longest message. */
static void make_room(struct peer *peer)
{
	if (peer->start < PEER_INPUT_BYTES / 2)
		return;
	memmove(peer->input, peer->input + peer->start, peer->end - peer->start);
	peer->examined -= peer->start;
	peer->end -= peer->start;
	peer->start = 0;
}

bool peer_read(struct peer *peer)
{
	ssize_t bytes;

	make_room(peer);
	bytes = recv(peer->fd, peer->input + peer->end, PEER_INPUT_BYTES - peer->end, 0);
	if (bytes > 0)
		peer->end += (size_t)bytes;
	else if (bytes == 0 || (errno != EAGAIN && errno != EINTR))
		peer->ended = true;
	return bytes > 0 || peer->ended;
}

int peer_next(const struct peer *peer, const __u8 **message)
{
	size_t left = peer->end - peer->examined, bytes;

	*message = peer->input + peer->examined;
	if (left < OPENFLOW_HEADER)
		return 0;
	bytes = get16(*message + 2);
	if (bytes < OPENFLOW_HEADER)
		return -1;
	return bytes <= left ? (int)bytes : 0;
}

/* Remove bytes from the front of the input. */
static void drop(struct peer *peer, size_t bytes)
{
	peer->start += bytes;
	if (peer->start == peer->end)
		peer->start = peer->examined = peer->end = 0;
}

void peer_pass(struct peer *peer, size_t bytes)
{
	peer->examined += bytes;
}

void peer_take(struct peer *peer, size_t bytes)
{
	peer->examined += bytes;
	drop(peer, bytes);
}

void peer_clear(struct peer *peer)
{
	peer->start = peer->examined = peer->end = 0;
}

/* --- output --- */

bool peer_has_to_send(const struct peer *peer, const struct peer *from)
{
	return !peer->mute &&
	       (peer->sending || from->examined > from->start || !output_is_empty(&peer->own));
}

/* Choose what is sent next: messages of the other end, or of the agent, in turns. Only whole
 * messages are chosen, so that others can come behind them. */
static void choose(struct peer *peer, const struct peer *from)
{
	size_t others = from->examined - from->start;
	size_t own = peer->own.end - peer->own.start;

	peer->sends_own = own && (!others || !peer->sends_own);
	peer->sending = peer->sends_own ? own : others;
}

/* Note that bytes were sent, and remove them from where they were kept. */
static void sent(struct peer *peer, struct peer *from, size_t bytes)
{
	peer->sending -= bytes;
	if (peer->sends_own) {
		output_sent(&peer->own, bytes);
		return;
	}
	drop(from, bytes);
	from->passed += bytes;
}

/* Drop what waits for an end that takes nothing any more. */
static void discard(struct peer *peer, struct peer *from)
{
	peer->sending = 0;
	output_sent(&peer->own, peer->own.end - peer->own.start);
	drop(from, from->examined - from->start);
}

size_t peer_send(struct peer *peer, struct peer *from)
{
	size_t all = 0;

	while (!peer->blocked && peer_has_to_send(peer, from)) {
		const __u8 *bytes;
		ssize_t taken;

		if (!peer->sending)
			choose(peer, from);
		bytes = peer->sends_own ? peer->own.bytes + peer->own.start
					: from->input + from->start;
		taken = send(peer->fd, bytes, peer->sending, MSG_NOSIGNAL);
		if (taken > 0) {
			sent(peer, from, (size_t)taken);
			all += (size_t)taken;
		} else if (errno == EAGAIN) {
			peer->blocked = true;
		} else if (errno != EINTR) {
			peer->mute = true;
		}
	}
	if (peer->mute)
		discard(peer, from);
	return all;
}
