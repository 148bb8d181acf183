// SPDX-License-Identifier: Apache-2.0
/* sfc-send: sends frames from standard input by a packet socket, unchanged.
 *
 * It is copied to endpoints that may have nothing but a shell. What it sends are marked packets,
 * by which sfcperf proves that a chain is crossed. */
#include <argp.h>
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

#include "../common/report.h"

const char *argp_program_version = "sfc-send 1";
const char tool_name[] = "sfc-send";

struct options {
	const char *interface;
	unsigned int index;
};

static const char documentation[] =
	"Sends the Ethernet frames that it reads from standard input.\v"
	"A frame is its length in bytes (32 bits, big-endian) and its bytes, from the destination "
	"address on, without checksum. Prints a line of JSON on standard output: how many frames "
	"left. Exit status 1: a frame could not be sent, or the input is damaged.";

static const struct argp_option descriptions[] = {
	{ "interface", 'i', "NAME", 0, "Interface to send them out of", 0 },
	{ 0 },
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'i':
		options->interface = argument;
		if (!*argument || strlen(argument) >= IF_NAMESIZE)
			argp_error(state, "--interface: '%s' is not the name of an interface",
				   argument);
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s' is not an option", argument);
		return 0;
	case ARGP_KEY_END:
		if (!options->interface)
			argp_error(state, "--interface is missing");
		options->index = if_nametoindex(options->interface);
		if (!options->index)
			argp_error(state, "--interface: there is no interface %s here",
				   options->interface);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Ends the program with status 2 and a message when an option is wrong. */
static void parse_options(int argc, char **argv, struct options *options)
{
	const struct argp argp = { descriptions, parse, NULL, documentation, NULL, NULL, NULL };

	argp_err_exit_status = 2;
	*options = (struct options){ 0 };
	argp_parse(&argp, argc, argv, 0, NULL, options);
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
		complain("frame %llu has no whole length before the input ends", number);
		return DAMAGED;
	}
	*length = ntohl(header);
	if (*length < ETH_HLEN || *length > LONGEST) {
		complain("frame %llu of %zu bytes; allowed: %d to %d", number, *length, ETH_HLEN,
			 LONGEST);
		return DAMAGED;
	}
	if (fread(frame, 1, *length, stdin) < *length) {
		complain("frame %llu is not whole before the input ends", number);
		return DAMAGED;
	}
	return FRAME;
}

/* The socket blocks until there is room; a signal may interrupt that. */
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

	while ((reading = read_frame(frame, &length, sent->frames + 1)) == FRAME) {
		if (!send_frame(fd, options->index, frame, length)) {
			complain("frame %llu of %zu bytes does not leave by %s: %s",
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
	/* Protocol 0: it receives nothing. */
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		complain("no packet socket: %s%s", strerror(errno),
			 errno == EPERM ? " (it needs root, or CAP_NET_RAW)" : "");
		return 1;
	}
	good = send_all(fd, &options, &sent);
	close(fd);
	printf("{\"event\": \"sent\", \"frames\": %llu, \"bytes\": %llu}\n", sent.frames,
	       sent.bytes);
	if (fflush(stdout)) {
		complain("the count cannot be written: %s", strerror(errno));
		return 1;
	}
	return good ? 0 : 1;
}
