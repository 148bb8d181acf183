/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of OpenFlow connections, as Open vSwitch writes them: tcp:IP:PORT (IPv6 in brackets)
 * and unix:PATH. */
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <netinet/in.h>

struct address {
	const char *text; /* as it was parsed */
	socklen_t bytes; /* of the sockaddr */
	union {
		struct sockaddr any;
		struct sockaddr_in ipv4;
		struct sockaddr_in6 ipv6;
		struct sockaddr_un local;
		struct sockaddr_storage storage;
	};
};

/* Parse an address. The text stays the caller's, and must remain. Returns 0, or -1 if it is
 * none. */
int address_parse(const char *text, struct address *address);

/* Return a socket that listens there, and does not block; -1 after complain(). */
int address_listen(const struct address *address);

/* Accept a connection of a socket that listens at this address. Returns a socket that does not
 * block, or -1 with errno set. */
int address_accept(const struct address *address, int listener);

/* Return a socket that does not block and connects to there; -errno if this fails at once. */
int address_connect(const struct address *address);

/* Remove the file that address_listen() has made. */
void address_remove(const struct address *address);
