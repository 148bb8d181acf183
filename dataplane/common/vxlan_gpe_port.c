// SPDX-License-Identifier: Apache-2.0
/* Binds a socket to the UDP port of VXLAN-GPE, which receives nothing. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "../nsh/nsh.h"
#include "packet_ring.h"
#include "report.h"
#include "vxlan_gpe_port.h"

int vxlan_gpe_port_open(const char *interface)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(VXLAN_GPE_UDP_PORT),
	};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0) {
		complain("cannot open a UDP socket: %s", strerror(errno));
		return -1;
	}
	if (packet_drop_everything(fd, interface) ||
	    packet_option(fd, SOL_SOCKET, SO_BINDTODEVICE, interface,
			  (unsigned int)strlen(interface) + 1, interface))
		return -1;
	if (bind(fd, (struct sockaddr *)&address, sizeof(address))) {
		complain("cannot bind to UDP port %d: %s", VXLAN_GPE_UDP_PORT, strerror(errno));
		return -1;
	}
	return 0;
}
