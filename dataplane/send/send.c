// SPDX-License-Identifier: Apache-2.0
/* sfc-send: sends frames from standard input or a file by a packet socket, unchanged, at once or at
 * their times.
 *
 * It is copied to endpoints that may have nothing but a shell. What it sends are marked packets,
 * by which sfcperf proves that a chain is crossed, and traffic that was captured before. */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../common/clock.h"
#include "../common/options.h"

const char tool_name[] = "sfc-send";

static const char documentation[] =
	"Sends Ethernet frames.\v"
	"A frame is its length in bytes (32 bits, big-endian) and its bytes, from the destination "
	"address on, without checksum. With --timed, 8 bytes before the length say when it is due: "
	"nanoseconds after the first one. Prints a line of JSON on standard output: how many "
	"frames "
	"left. Exit status 1: a frame could not be sent, or the input is damaged.";

static const char *interface;
static const char *input;
static bool timed;
static unsigned int ifindex;

static struct tool_option descriptions[] = {
	{ "interface", 'i', "NAME", "Interface to send them out of", take_interface, &interface,
	  .required = true },
	{ "input", 0, "FILE", "Where the frames are; default: standard input", take_text, &input },
	{ "timed", 0, NULL, "Send each frame when it is due", take_flag, &timed },
	{ 0 },
};

/* Judge the options together: look the interface up. */
static void check(char **words, unsigned int count)
{
	(void)words;
	(void)count;
	ifindex = if_nametoindex(interface);
	if (!ifindex)
		refuse("--interface: there is no interface %s here", interface);
}

#define LONGEST (65535 + ETH_HLEN)
#define NS_PER_S 1000000000ULL

struct sent {
	unsigned long long frames;
	unsigned long long bytes;
};

enum reading { FRAME, END, DAMAGED }; /* DAMAGED: after complain() */

struct frame {
	uint64_t due_ns; /* when it is due, after the first one; without --timed 0 */
	size_t length;
	uint8_t bytes[LONGEST];
};

/* Read what precedes the bytes of a frame. `number` is that of the frame, from 1 on. */
static enum reading read_head(struct frame *frame, unsigned long long number)
{
	struct __attribute__((packed)) {
		uint64_t due_ns;
		uint32_t length;
	} head = { 0 };
	size_t size = timed ? sizeof(head) : sizeof(head.length);
	size_t got = fread(timed ? (void *)&head : (void *)&head.length, 1, size, stdin);

	if (got == 0 && feof(stdin))
		return END;
	if (ferror(stdin)) {
		complain("frame %llu cannot be read: %s", number, strerror(errno));
		return DAMAGED;
	}
	if (got < size) {
		complain("the input ends within the length of frame %llu", number);
		return DAMAGED;
	}
	frame->due_ns = be64toh(head.due_ns);
	frame->length = ntohl(head.length);
	if (frame->length < ETH_HLEN || frame->length > LONGEST) {
		complain("frame %llu has %zu bytes; allowed: %d to %d", number, frame->length,
			 ETH_HLEN, LONGEST);
		return DAMAGED;
	}
	return FRAME;
}

/* Read a frame from standard input. */
static enum reading read_frame(struct frame *frame, unsigned long long number)
{
	enum reading reading = read_head(frame, number);

	if (reading != FRAME)
		return reading;
	if (fread(frame->bytes, 1, frame->length, stdin) < frame->length) {
		complain("the input ends within frame %llu", number);
		return DAMAGED;
	}
	return FRAME;
}

/* Send a frame. The socket blocks until there is room; a signal may interrupt that. Returns false,
 * with errno set, if the frame cannot be sent. */
static bool send_frame(int fd, const struct frame *frame)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_ifindex = (int)ifindex };
	ssize_t status;

	/* Without the protocol, captures whose filters ask for it do not see the packet. */
	memcpy(&to.sll_protocol, frame->bytes + 2 * ETH_ALEN, sizeof(to.sll_protocol));
	do {
		status = sendto(fd, frame->bytes, frame->length, 0, (const struct sockaddr *)&to,
				sizeof(to));
	} while (status < 0 && errno == EINTR);
	return status >= 0;
}

/* Wait until a frame is due, at this time of CLOCK_MONOTONIC. A sender that was held up makes up
 * for it: it sends at once what is due already. */
static void wait_until(uint64_t due_ns)
{
	const struct timespec until = { .tv_sec = (time_t)(due_ns / NS_PER_S),
					.tv_nsec = (long)(due_ns % NS_PER_S) };

	if (due_ns > clock_ns(CLOCK_MONOTONIC))
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
			;
}

/* Send all frames of standard input, and count them. Returns false after complain(). */
static bool send_all(int fd, struct sent *sent)
{
	static struct frame frame;
	uint64_t start_ns = clock_ns(CLOCK_MONOTONIC);
	enum reading reading;

	while ((reading = read_frame(&frame, sent->frames + 1)) == FRAME) {
		if (timed)
			wait_until(start_ns + frame.due_ns);
		if (!send_frame(fd, &frame)) {
			complain("cannot send frame %llu (%zu bytes) on %s: %s", sent->frames + 1,
				 frame.length, interface, strerror(errno));
			return false;
		}
		sent->frames++;
		sent->bytes += frame.length;
	}
	return reading == END;
}

int main(int argc, char **argv)
{
	struct sent sent = { 0 };
	bool good;
	int fd;

	options_parse(argc, argv, documentation, NULL, descriptions, check);
	prctl(PR_SET_TIMERSLACK, 1); /* ns; the default would delay each frame by 50 us */
	if (input && !freopen(input, "r", stdin)) {
		complain("%s cannot be read: %s", input, strerror(errno));
		return 1;
	}
	/* The socket has protocol 0, so it receives nothing. */
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		complain("no packet socket: %s%s", strerror(errno),
			 errno == EPERM ? " (it needs root, or CAP_NET_RAW)" : "");
		return 1;
	}
	good = send_all(fd, &sent);
	close(fd);
	printf("{\"event\": \"sent\", \"frames\": %llu, \"bytes\": %llu}\n", sent.frames,
	       sent.bytes);
	if (fflush(stdout)) {
		complain("the count cannot be written: %s", strerror(errno));
		return 1;
	}
	return good ? 0 : 1;
}
