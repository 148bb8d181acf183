// SPDX-License-Identifier: Apache-2.0
/* sfc-send: sends frames from standard input by a packet socket, unchanged.
 *
 * It is copied to endpoints that may have nothing but a shell. What it sends are marked packets,
 * by which sfcperf proves that a chain is crossed. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../common/options.h"

const char tool_name[] = "sfc-send";

static const char documentation[] =
	"Sends the Ethernet frames that it reads from standard input.\v"
	"A frame is its length in bytes (32 bits, big-endian) and its bytes, from the destination "
	"address on, without checksum. Prints a line of JSON on standard output: how many frames "
	"left. Exit status 1: a frame could not be sent, or the input is damaged.";

static const char *interface;
static unsigned int ifindex;

static struct tool_option descriptions[] = {
	{ "interface", 'i', "NAME", "Interface to send them out of", take_interface, &interface,
	  .required = true },
	{ 0 },
};

static void check(char **words, unsigned int count)
{
	(void)words;
	(void)count;
	require_options(descriptions);
	ifindex = if_nametoindex(interface);
	if (!ifindex)
		refuse("--interface: there is no interface %s here", interface);
}

#define LONGEST (65535 + ETH_HLEN)

struct sent {
	unsigned long long frames;
	unsigned long long bytes;
};

enum reading { FRAME, END, DAMAGED };

static enum reading read_frame(uint8_t *frame, size_t *length, unsigned long long number)
{
	uint32_t header;
	size_t got = fread(&header, 1, sizeof(header), stdin);

	if (got == 0 && feof(stdin))
		return END;
	if (ferror(stdin)) {
		complain("frame %llu cannot be read: %s", number, strerror(errno));
		return DAMAGED;
	}
	if (got < sizeof(header)) {
		complain("the input ends within the length of frame %llu", number);
		return DAMAGED;
	}
	*length = ntohl(header);
	if (*length < ETH_HLEN || *length > LONGEST) {
		complain("frame %llu has %zu bytes; allowed: %d to %d", number, *length, ETH_HLEN,
			 LONGEST);
		return DAMAGED;
	}
	if (fread(frame, 1, *length, stdin) < *length) {
		complain("the input ends within frame %llu", number);
		return DAMAGED;
	}
	return FRAME;
}

/* The socket blocks until there is room; a signal may interrupt that. */
static bool send_frame(int fd, const uint8_t *frame, size_t length)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_ifindex = (int)ifindex };
	ssize_t status;

	/* Without it, filters of captures that ask for the protocol do not see the packet. */
	memcpy(&to.sll_protocol, frame + 2 * ETH_ALEN, sizeof(to.sll_protocol));
	do {
		status = sendto(fd, frame, length, 0, (const struct sockaddr *)&to, sizeof(to));
	} while (status < 0 && errno == EINTR);
	return status >= 0;
}

static bool send_all(int fd, struct sent *sent)
{
	static uint8_t frame[LONGEST];
	enum reading reading;
	size_t length;

	while ((reading = read_frame(frame, &length, sent->frames + 1)) == FRAME) {
		if (!send_frame(fd, frame, length)) {
			complain("cannot send frame %llu (%zu bytes) on %s: %s", sent->frames + 1,
				 length, interface, strerror(errno));
			return false;
		}
		sent->frames++;
		sent->bytes += length;
	}
	return reading == END;
}

int main(int argc, char **argv)
{
	const struct command command = {
		.documentation = documentation,
		.options = descriptions,
		.check = check,
	};
	struct sent sent = { 0 };
	bool good;
	int fd;

	options_parse(argc, argv, &command);
	/* Protocol 0: it receives nothing. */
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
