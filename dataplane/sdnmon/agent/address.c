// SPDX-License-Identifier: Apache-2.0
/* Parses addresses of OpenFlow connections, listens and connects there. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../common/options.h"
#include "address.h"

#define BACKLOG 64
#define UNSENT_BYTES (256 * 1024) /* most bytes that the kernel keeps unsent: messages wait there */

/* Parse what is behind the prefix of an address. Both return 0, or -1 if it is none. */
static int parse_local(const char *path, struct address *address)
{
	if (!*path || strlen(path) >= sizeof(address->local.sun_path))
		return -1;
	address->local.sun_family = AF_UNIX;
	strcpy(address->local.sun_path, path);
	address->bytes = sizeof(address->local);
	return 0;
}

static int parse_tcp(const char *text, struct address *address)
{
	const char *colon = strrchr(text, ':');
	char host[INET6_ADDRSTRLEN + 2];
	size_t length;
	long port;

	if (!colon || (length = (size_t)(colon - text)) >= sizeof(host) ||
	    parse_integer(colon + 1, 1, 65535, &port))
		return -1;
	memcpy(host, text, length);
	host[length] = '\0';
	if (*host == '[' && host[length - 1] == ']') {
		host[length - 1] = '\0';
		address->ipv6.sin6_family = AF_INET6;
		address->ipv6.sin6_port = htons((in_port_t)port);
		address->bytes = sizeof(address->ipv6);
		return inet_pton(AF_INET6, host + 1, &address->ipv6.sin6_addr) == 1 ? 0 : -1;
	}
	address->ipv4.sin_family = AF_INET;
	address->ipv4.sin_port = htons((in_port_t)port);
	address->bytes = sizeof(address->ipv4);
	return inet_pton(AF_INET, host, &address->ipv4.sin_addr) == 1 ? 0 : -1;
}

int address_parse(const char *text, struct address *address)
{
	*address = (struct address){ .text = text };
	if (strncmp(text, "unix:", 5) == 0)
		return parse_local(text + 5, address);
	return strncmp(text, "tcp:", 4) == 0 ? parse_tcp(text + 4, address) : -1;
}

/* Return a socket for this address, which does not block; -1 with errno set. */
static int open_socket(const struct address *address)
{
	return socket(address->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

/* Set options of a connection. Messages are small, and one waits for the other, so they are sent
 * at once. The kernel keeps few unsent bytes, because these delay urgent messages. */
static void tune(const struct address *address, int fd)
{
	const int on = 1, unsent = UNSENT_BYTES;

	if (address->any.sa_family == AF_UNIX)
		return;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

/* Remove the socket file of an agent that was killed: nobody listens there. */
static void remove_stale(const struct address *address)
{
	int fd = address->any.sa_family == AF_UNIX ? open_socket(address) : -1;

	if (fd < 0)
		return;
	if (connect(fd, &address->any, address->bytes) && errno == ECONNREFUSED)
		address_remove(address);
	close(fd);
}

int address_listen(const struct address *address)
{
	int fd = open_socket(address);
	const int on = 1;

	if (fd >= 0) {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		remove_stale(address);
		if (bind(fd, &address->any, address->bytes) == 0 && listen(fd, BACKLOG) == 0)
			return fd;
	}
	complain("cannot listen at %s: %s", address->text, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

int address_accept(const struct address *address, int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0)
		tune(address, fd);
	return fd;
}

int address_connect(const struct address *address)
{
	int fd = open_socket(address), error;

	if (fd < 0)
		return -errno;
	tune(address, fd);
	if (connect(fd, &address->any, address->bytes) == 0 || errno == EINPROGRESS)
		return fd;
	error = -errno;
	close(fd);
	return error;
}

void address_remove(const struct address *address)
{
	if (address->any.sa_family == AF_UNIX)
		unlink(address->local.sun_path);
}
