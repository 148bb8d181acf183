// SPDX-License-Identifier: Apache-2.0
/* sfc-send: frames from standard input leave by a packet socket, as they are.
 *
 * It is carried to endpoints that may have nothing but a shell, and sends what sfcperf has built:
 * packets with a mark, by which they are found again along the chain. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "send.h"

#define LONGEST (65535 + ETH_HLEN)

struct sent {
	unsigned long long frames;
	unsigned long long bytes;
};

enum reading { FRAME, END, DAMAGED };

static void complain(const struct sent *sent, const char *what, const char *why)
{
	fprintf(stderr, "sfc-send: frame %llu %s%s%s\n", sent->frames + 1, what, *why ? ": " : "",
		why);
}

static enum reading read_frame(uint8_t *frame, size_t *length, const struct sent *sent)
{
	uint32_t header;
	size_t got = fread(&header, 1, sizeof(header), stdin);

	if (got == 0 && feof(stdin))
		return END;
	if (ferror(stdin)) {
		complain(sent, "cannot be read", strerror(errno));
		return DAMAGED;
	}
	if (got < sizeof(header)) {
		complain(sent, "has no whole length before the input ends", "");
		return DAMAGED;
	}
	*length = ntohl(header);
	if (*length < ETH_HLEN || *length > LONGEST) {
		fprintf(stderr, "sfc-send: frame %llu of %zu bytes; allowed: %d to %d\n",
			sent->frames + 1, *length, ETH_HLEN, LONGEST);
		return DAMAGED;
	}
	if (fread(frame, 1, *length, stdin) < *length) {
		complain(sent, "is not whole before the input ends", "");
		return DAMAGED;
	}
	return FRAME;
}

/* The socket is blocking: it waits for room. A signal may interrupt that. */
static bool send_frame(int fd, unsigned int index, const uint8_t *frame, size_t length)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_ifindex = (int)index };
	ssize_t status;

	/* Without it, filters of captures that ask for the protocol do not see the packet. */
	memcpy(&to.sll_protocol, frame + 2 * ETH_ALEN, sizeof(to.sll_protocol));
	do {
		status = sendto(fd, frame, length, 0, (const struct sockaddr *)&to, sizeof(to));
	} while (status < 0 && errno == EINTR);
	return status >= 0;
}

static bool send_all(int fd, const struct options *options, struct sent *sent)
{
	static uint8_t frame[LONGEST];
	enum reading reading;
	size_t length;

	while ((reading = read_frame(frame, &length, sent)) == FRAME) {
		if (!send_frame(fd, options->index, frame, length)) {
			fprintf(stderr,
				"sfc-send: frame %llu of %zu bytes does not leave by %s: %s\n",
				sent->frames + 1, length, options->interface, strerror(errno));
			return false;
		}
		sent->frames++;
		sent->bytes += length;
	}
	return reading == END;
}

int main(int argc, char **argv)
{
	struct options options;
	struct sent sent = { 0 };
	bool good;
	int fd;

	parse_options(argc, argv, &options);
	/* Of no protocol: nothing is received by it. */
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		fprintf(stderr, "sfc-send: no packet socket: %s%s\n", strerror(errno),
			errno == EPERM ? " (it needs root, or CAP_NET_RAW)" : "");
		return 1;
	}
	good = send_all(fd, &options, &sent);
	close(fd);
	printf("{\"event\": \"sent\", \"frames\": %llu, \"bytes\": %llu}\n", sent.frames,
	       sent.bytes);
	if (fflush(stdout)) {
		fprintf(stderr, "sfc-send: the count cannot be written: %s\n", strerror(errno));
		return 1;
	}
	return good ? 0 : 1;
}
