// SPDX-License-Identifier: Apache-2.0
/* Serves an OpenFlow channel: passes messages between its ends, and takes out those of SDN-Mon. */
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../common/clock.h"
#include "../../common/report.h"
#include "channel.h"

#define HELLO_ELEMENT_HEADER 4
#define MULTIPART_HEADER 16
#define BEGIN_WAIT_NS 10000000000ULL /* how long to wait for the first message of the switch */
#define ASK_WAIT_NS 1000000000ULL /* how long to wait for the switch's ports */
#define END_WAIT_NS 10000000000ULL /* how long an end may take to read what the other one sent */

/* Return the opposite of an end. */
static struct peer *other(struct channel *channel, enum end end)
{
	return &channel->peers[!end];
}

/* --- HELLO --- */

/* Return the bitmap of versions in a HELLO (bit n: version n); 0 if it has none, or is
 * malformed. */
static __u64 bitmap_of(const __u8 *message, size_t bytes)
{
	size_t at = OPENFLOW_HEADER;

	while (bytes - at >= HELLO_ELEMENT_HEADER) {
		__u16 type = get16(message + at), length = get16(message + at + 2);

		if (length < HELLO_ELEMENT_HEADER || length > bytes - at)
			return 0;
		if (type == OFPHET_VERSIONBITMAP)
			return length >= 8 ? get32(message + at + 4) : 0;
		length = (__u16)((length + 7) & ~7); /* padded */
		if (length > bytes - at || !length) /* 0: the padded length is 65536 */
			return 0;
		at += length;
	}
	return 0;
}

/* Return the version of OpenFlow that both ends agree on (OpenFlow 1.3.5, 6.3.1): the highest one
 * in both bitmaps, else the lower one of the highest of each end. 0 if there is none. */
static __u8 negotiated(const struct channel *channel)
{
	__u64 common = channel->hello[SWITCH] & channel->hello[CONTROLLER];
	__u64 least = channel->hello[SWITCH] < channel->hello[CONTROLLER]
			      ? channel->hello[SWITCH]
			      : channel->hello[CONTROLLER];

	if (!channel->hello[SWITCH] || !channel->hello[CONTROLLER])
		return 0;
	if (channel->has_bitmap[SWITCH] && channel->has_bitmap[CONTROLLER])
		return common ? (__u8)(63 - __builtin_clzll(common)) : 0;
	return (__u8)(63 - __builtin_clzll(least));
}

/* Look at the first message of an end. If it is a HELLO, it says which versions that end can speak.
 * The channel then has its version, if both ends have said HELLO. */
static void read_hello(struct channel *channel, enum end end, const __u8 *message, size_t bytes)
{
	__u64 bitmap = bitmap_of(message, bytes);
	const struct peer *peer = &channel->peers[end];

	channel->has_begun[end] = true;
	if (message[1] != OFPT_HELLO)
		return;
	channel->has_bitmap[end] = bitmap != 0;
	/* The version in the header is the highest one that the end can speak. */
	channel->hello[end] = bitmap ? bitmap : 1ULL << (message[0] & 63);
	if (end == CONTROLLER)
		channel->hello_ends = peer->passed + (peer->examined - peer->start) + bytes;
	channel->version = negotiated(channel);
	if (channel->version < OPENFLOW_1_3)
		channel->version = 0;
	channel->session.version = channel->version;
}

/* --- the switch's ports --- */

/* Ask the switch for its ports, behind the controller's HELLO: the switch takes no other message
 * before that. */
static void ask_for_ports(struct channel *channel)
{
	struct output *output = &channel->peers[SWITCH].own;
	__u8 *to = output->bytes + output->end;
	size_t bytes = MULTIPART_HEADER;

	if (channel->has_asked || !channel->version || channel->monitoring->ports.fixed ||
	    channel->peers[CONTROLLER].passed < channel->hello_ends)
		return;
	/* A number that the controller is not likely to use. */
	if (getrandom(&channel->xid, sizeof(channel->xid), 0) != sizeof(channel->xid))
		channel->xid = (__u32)clock_ns(CLOCK_MONOTONIC);
	memset(to, 0, MULTIPART_HEADER);
	put16(to + OPENFLOW_HEADER, OFPMP_PORT_DESC);
	if (channel->version >= OPENFLOW_1_5) { /* says of which port: all */
		put32(put32(to + bytes, OFPP_ANY), 0);
		bytes += 8;
	}
	put_header(to, channel->version, OFPT_MULTIPART_REQUEST, bytes, channel->xid);
	output->end += bytes;
	channel->has_asked = channel->asks = true;
	channel->asked_ns = clock_ns(CLOCK_MONOTONIC);
}

/* Is this a reply to our own request? */
static bool is_for_us(const struct channel *channel, const __u8 *message, size_t bytes)
{
	if (!channel->asks || get32(message + 4) != channel->xid)
		return false;
	return message[1] == OFPT_ERROR ||
	       (message[1] == OFPT_MULTIPART_REPLY && bytes >= MULTIPART_HEADER &&
		get16(message + OPENFLOW_HEADER) == OFPMP_PORT_DESC);
}

/* Take the switch's reply to the agent's own request for its ports. */
static void take_reply(struct channel *channel, const __u8 *message, size_t bytes)
{
	bool more;

	if (message[1] == OFPT_ERROR) {
		complain("%s: the switch does not say its ports: name them by --port",
			 channel->name);
		channel->asks = false;
		return;
	}
	more = get16(message + OPENFLOW_HEADER + 2) & OFPMP_REPLY_MORE;
	switch_ports_described(&channel->monitoring->ports, &channel->described, message, bytes,
			       !more);
	channel->asks = more;
}

/* --- messages --- */

/* Is this a request of SDN-Mon? Before the versions are known, messages are not looked at. */
static bool is_request(const struct channel *channel, const __u8 *message, size_t bytes)
{
	return channel->version && message[0] == channel->version &&
	       message[1] == OFPT_EXPERIMENTER && bytes >= SDNMON_HEADER &&
	       get32(message + OPENFLOW_HEADER) == SDNMON_EXPERIMENTER;
}

/* Can a request be answered now? It waits until the switch has said its ports, so that these are
 * monitored when it is answered, and until the controller has read earlier replies. */
static bool can_answer(const struct channel *channel)
{
	if (!channel->has_asked && !channel->monitoring->ports.fixed)
		return false; /* it came together with HELLO; the switch is asked behind that */
	return output_has_room(&channel->peers[CONTROLLER].own) &&
	       !(channel->asks && clock_ns(CLOCK_MONOTONIC) - channel->asked_ns < ASK_WAIT_NS);
}

/* Take a message that does not go on to the other end, and do what it asks for. Returns false if it
 * cannot be taken yet: messages before it wait, or it is a request that cannot be answered. */
static bool take(struct channel *channel, enum end end, const __u8 *message, size_t bytes)
{
	struct peer *peer = &channel->peers[end];

	if (peer->start != peer->examined || (end == CONTROLLER && !can_answer(channel)))
		return false;
	if (end == SWITCH) {
		take_reply(channel, message, bytes);
	} else {
		if (channel->monitoring->ports.changed)
			monitoring_follow(channel->monitoring);
		session_answer(&channel->session, channel->monitoring, message, bytes);
	}
	peer_take(peer, bytes);
	return true;
}

/* Look at the messages that came from one end: take those for the agent, and let others go on.
 * Returns whether there were any. A channel that lingers drops them all. */
static bool examine(struct channel *channel, enum end end)
{
	struct peer *peer = &channel->peers[end];
	const __u8 *message;
	bool any = false;
	int bytes;

	if (channel->lingers) {
		peer_clear(peer);
		return false;
	}
	while ((bytes = peer_next(peer, &message)) > 0) {
		size_t length = (size_t)bytes;

		if (!channel->has_begun[end])
			read_hello(channel, end, message, length);
		if (end == SWITCH ? is_for_us(channel, message, length)
				  : is_request(channel, message, length)) {
			if (!take(channel, end, message, length))
				return any;
		} else {
			if (end == SWITCH && channel->version && message[1] == OFPT_PORT_STATUS)
				switch_ports_status(&channel->monitoring->ports,
						    &channel->described, message, length);
			peer_pass(peer, length);
		}
		any = true;
	}
	if (bytes < 0) {
		complain("%s: the %s sent a message of %u bytes, which is none", channel->name,
			 end == SWITCH ? "switch" : "controller", get16(message + 2));
		channel->closed = true;
	}
	return any;
}

/* --- serving --- */

/* Append a piece of the statistics reply, if there is one, when the controller has taken the last
 * piece. */
static void continue_statistics(struct channel *channel)
{
	struct statistics *statistics = &channel->session.statistics;
	struct peer *controller = &channel->peers[CONTROLLER];

	if (!statistics->active)
		return;
	if (controller->mute)
		statistics_end(statistics);
	else if (output_is_empty(&controller->own))
		statistics_continue(statistics, &controller->own);
}

/* Has the other end taken all whole messages of this one? */
static bool is_drained(const struct peer *peer)
{
	const __u8 *message;

	return peer->start == peer->examined && peer_next(peer, &message) == 0;
}

/* End a channel of which an end is gone, once the other end has taken all that came before. The
 * agent does not close its connection to that end at once, because what that end has not read yet
 * would be lost: it waits until that end closes it. */
static void end_gradually(struct channel *channel)
{
	for (int end = SWITCH; end <= CONTROLLER; end++) {
		struct peer *peer = &channel->peers[end];
		struct peer *to = other(channel, (enum end)end);

		if (!peer->ended)
			continue;
		if (!channel->ended_ns)
			channel->ended_ns = clock_ns(CLOCK_MONOTONIC);
		if (!channel->lingers && (to->mute || is_drained(peer))) {
			channel->lingers = peer->mute = to->mute = true;
			shutdown(to->fd, SHUT_WR);
		}
		if (to->ended || clock_ns(CLOCK_MONOTONIC) - channel->ended_ns > END_WAIT_NS)
			channel->closed = true;
	}
}

bool channel_is_idle(const struct channel *channel)
{
	return !channel->has_begun[SWITCH] && !channel->closed;
}

/* End a channel whose switch says nothing: it takes the place of another switch. */
static void end_idle(struct channel *channel)
{
	if (!channel_is_idle(channel) ||
	    clock_ns(CLOCK_MONOTONIC) - channel->opened_ns < BEGIN_WAIT_NS)
		return;
	complain("%s: the switch says nothing", channel->name);
	channel->closed = true;
}

/* Wait for those events of an end that are useful now. */
static void set_interest(struct channel *channel, enum end end, struct loop *loop)
{
	struct peer *peer = &channel->peers[end];
	__u32 interest = 0;

	if (peer->hung)
		return;
	if (peer_can_read(peer))
		interest |= EPOLLIN;
	if (peer->blocked || (end == CONTROLLER && channel->session.statistics.active) ||
	    peer_has_to_send(peer, other(channel, end)))
		interest |= EPOLLOUT;
	if (interest == peer->interest)
		return;
	loop_change(loop, peer->fd, &channel->watches[end], interest);
	peer->interest = interest;
}

/* Read from ends that the kernel reports as over all the time: they may have sent more before.
 * Returns whether something came. */
static bool read_hung(struct channel *channel)
{
	bool any = false;

	for (int end = SWITCH; end <= CONTROLLER; end++) {
		struct peer *peer = &channel->peers[end];

		if (peer->hung && peer_can_read(peer))
			any |= peer_read(peer);
	}
	return any;
}

void channel_serve(struct channel *channel)
{
	struct peer *to_switch = &channel->peers[SWITCH];
	struct peer *controller = &channel->peers[CONTROLLER];
	bool progress;

	continue_statistics(channel);
	do {
		progress = read_hung(channel);
		progress |= examine(channel, CONTROLLER);
		ask_for_ports(channel);
		progress |= examine(channel, SWITCH);
		progress |= peer_send(to_switch, controller) > 0;
		progress |= peer_send(controller, to_switch) > 0;
	} while (progress && !channel->closed);
	end_gradually(channel);
	end_idle(channel);
	if (channel->closed)
		return;
	set_interest(channel, SWITCH, channel->loop);
	set_interest(channel, CONTROLLER, channel->loop);
}

/* --- events --- */

/* Note that an end is connected, or close the channel if it could not be. */
static void finish_connecting(struct channel *channel, struct peer *peer)
{
	int error = 0;
	socklen_t bytes = sizeof(error);

	peer->connecting = false;
	if (getsockopt(peer->fd, SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 && error) {
		complain("cannot connect to the %s %s: %s",
			 peer == &channel->peers[SWITCH] ? "switch of" : "controller",
			 channel->name, strerror(error));
		channel->closed = true;
	}
}

/* An end is ready, or over (struct watch). */
static void ready(struct watch *watch, __u32 events)
{
	struct channel *channel = watch->owner;
	struct peer *peer = &channel->peers[watch - channel->watches]; /* of the same place */

	if (channel->closed)
		return;
	if (peer->connecting && (events & (EPOLLOUT | EPOLLERR | EPOLLHUP)))
		finish_connecting(channel, peer);
	if (events & EPOLLOUT)
		peer->blocked = false;
	if (peer_can_read(peer) && (events & (EPOLLIN | EPOLLHUP | EPOLLERR))) {
		peer_read(peer);
	} else if (events & (EPOLLHUP | EPOLLERR)) {
		/* It cannot be read now, and epoll would report it again at once. */
		loop_remove(channel->loop, peer->fd);
		peer->hung = true;
	}
	channel_serve(channel);
}

/* --- beginning and end --- */

struct channel *channel_open(struct loop *loop, struct monitoring *monitoring, int to_switch,
			     int to_controller, const char *name)
{
	struct channel *channel = calloc(1, sizeof(*channel));
	const int sockets[] = { to_switch, to_controller };
	int error = channel ? 0 : -1;

	/* Both sockets are taken for connecting: one that is connected already says so at once. */
	for (int end = SWITCH; channel && end <= CONTROLLER; end++) {
		channel->watches[end] = (struct watch){ ready, channel };
		error |= peer_open(&channel->peers[end], sockets[end], true);
	}
	if (error) {
		complain("no memory for a channel to %s", name);
		if (channel)
			channel_free(channel);
		return NULL;
	}
	channel->loop = loop;
	channel->monitoring = monitoring;
	channel->name = name;
	channel->opened_ns = clock_ns(CLOCK_MONOTONIC);
	channel->session.output = &channel->peers[CONTROLLER].own;
	for (int end = SWITCH; end <= CONTROLLER; end++) {
		struct peer *peer = &channel->peers[end];

		peer->interest = EPOLLOUT;
		loop_add(loop, peer->fd, &channel->watches[end], peer->interest);
	}
	return channel;
}

void channel_free(struct channel *channel)
{
	statistics_end(&channel->session.statistics);
	free(channel->described.ports);
	peer_close(&channel->peers[SWITCH]);
	peer_close(&channel->peers[CONTROLLER]);
	free(channel);
}
