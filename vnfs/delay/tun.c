// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "delay.h"

int tun_open(const char *name)
{
	/* No TUNSETOFFLOAD: the kernel finishes checksums and segments before it hands over. */
	struct ifreq request = { .ifr_flags = IFF_TUN | IFF_NO_PI };
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0) {
		complain("cannot open /dev/net/tun: %s", strerror(errno));
		return -1;
	}
	strncpy(request.ifr_name, name, IF_NAMESIZE - 1);
	if (ioctl(fd, TUNSETIFF, &request)) {
		complain("cannot make the TUN device %s: %s", name, strerror(errno));
		close(fd);
		return -1;
	}
	return fd;
}
