// SPDX-License-Identifier: Apache-2.0
/* sfc-forwarder: an NSH service function that decrements the SI and returns the packet. */
#include <errno.h>
#include <net/if_arp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine.h"
#include "options.h"
#include "report.h"

static int ask(int fd, unsigned long request, struct ifreq *answer)
{
	if (ioctl(fd, request, answer) == 0)
		return 0;
	complain("cannot use interface %s: %s", answer->ifr_name, strerror(errno));
	return -1;
}

static int find_interface(const char *name, struct interface *interface)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = { 0 };
	int status = -1;

	if (strlen(name) >= IF_NAMESIZE) {
		complain("'%s' is too long for an interface's name", name);
		goto cleanup;
	}
	strcpy(interface->name, name);
	strcpy(request.ifr_name, name);
	if (ask(fd, SIOCGIFINDEX, &request))
		goto cleanup;
	interface->index = (unsigned int)request.ifr_ifindex;
	if (ask(fd, SIOCGIFMTU, &request))
		goto cleanup;
	interface->mtu = (unsigned int)request.ifr_mtu;
	if (ask(fd, SIOCGIFHWADDR, &request))
		goto cleanup;
	if (request.ifr_hwaddr.sa_family != ARPHRD_ETHER) {
		complain("%s is not an Ethernet interface", name);
		goto cleanup;
	}
	memcpy(interface->mac, request.ifr_hwaddr.sa_data, sizeof(interface->mac));
	status = 0;
cleanup:
	close(fd);
	return status;
}

/* Until SIGTERM or SIGINT: report the counters when asked, and sleep otherwise. */
static void serve(const struct engine *engine, const sigset_t *signals)
{
	struct snapshot now;
	int taken;

	engine->read(&now);
	report_store(&now);
	do {
		/* EINTR: the process was stopped and continued (signal(7)). */
		taken = sigwaitinfo(signals, NULL);
		if (taken == SIGUSR1) {
			engine->read(&now);
			report_store(&now);
			report_print(&now);
		}
	} while (taken == SIGUSR1 || (taken < 0 && errno == EINTR));
}

static int forward(const struct options *options, const sigset_t *signals)
{
	struct interface interface;
	struct snapshot final;

	if (options->stats && report_open(options->stats))
		return 1;
	if (find_interface(options->interface, &interface) ||
	    options->engine->start(&interface, &options->cpus)) {
		report_failed();
		return 1;
	}
	report_ready(options->engine->name, interface.name);
	serve(options->engine, signals);
	options->engine->stop();
	options->engine->read(&final);
	report_store(&final);
	report_print(&final);
	return 0;
}

int main(int argc, char **argv)
{
	struct options options;
	sigset_t signals;

	parse_options(argc, argv, &options);
	report_libbpf();
	if (options.attach_pass)
		return attach_pass(options.names, options.name_count) ? 1 : 0;

	/* Blocked before any thread starts, so that only serve() takes them. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGUSR1);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	return forward(&options, &signals);
}
