// SPDX-License-Identifier: Apache-2.0
/* sfc-sdnmon-agent: stands on the OpenFlow channel between a switch and its controller. It
 * answers the messages of SDN-Mon, and lets all others pass. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "../../common/clock.h"
#include "../../common/libbpf_log.h"
#include "../../common/options.h"
#include "../../common/signals.h"
#include "relay.h"

const char tool_name[] = "sfc-sdnmon-agent";

#define LOOK_MS 500 /* how often to look for changes by others */

static const char documentation[] =
	"Answers a controller's SDN-Mon messages on the OpenFlow channel of a switch, and lets all "
	"others pass.\v"
	"An address is tcp:IP:PORT or unix:PATH. The switch connects to LISTEN as if it were its "
	"controller; a switch that listens (ptcp: and punix: of Open vSwitch) is connected to. "
	"Without --port, packets are counted at the ports that the switch says it has, "
	"other than its local one; their names must be those of interfaces here.";

static struct loop loop;
static struct monitoring monitoring;
static struct relays relays = { .loop = &loop, .monitoring = &monitoring };

static struct {
	const char *state;
	int attach;
} options;

static void take_relay(const struct tool_option *option, const char *argument)
{
	char *copy = strdup(argument); /* the relay keeps it */

	if (copy && relay_add(&relays, copy) == 0)
		return;
	free(copy);
	refuse("--%s: LISTEN=CONTROLLER or to:SWITCH=CONTROLLER, each tcp:IP:PORT or unix:PATH, at "
	       "most %d times, not '%s'",
	       option->name, MOST_RELAYS, argument);
}

static void take_port(const struct tool_option *option, const char *argument)
{
	if (!*argument || strlen(argument) >= IF_NAMESIZE)
		refuse("--%s: '%s' is not the name of an interface", option->name, argument);
	switch_ports_fix(&monitoring.ports, argument);
}

static struct tool_option descriptions[] = {
	{ "state", 's', "DIR", "Folder of this switch in a BPF file system (required)", take_text,
	  &options.state, .required = true },
	{ "relay", 'r', "LISTEN=CONTROLLER",
	  "Listen for the switch, and connect to its controller; to:SWITCH=CONTROLLER connects to "
	  "both (required; may be repeated)",
	  take_relay, .required = true },
	{ "port", 'p', "INTERFACE",
	  "Count packets here (may be repeated; default: at the switch's ports)", take_port },
	{ "attach", 'a', "HOOK", "auto (default), tcx or clsact", take_word, &options.attach,
	  .words = tc_hook_names },
	{ 0 },
};

/* --- signals --- */

static bool ended;

/* A signal has come (struct watch). */
static void end(struct watch *watch, __u32 events)
{
	(void)watch;
	(void)events;
	ended = true;
}

/* Wait for the signals that end the process. Returns 0, or -1 after complain(). */
static int watch_signals(struct watch *watch)
{
	sigset_t signals;
	int fd;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0) {
		complain("cannot wait for signals: %s", strerror(errno));
		return -1;
	}
	*watch = (struct watch){ end, NULL };
	loop_add(&loop, fd, watch, EPOLLIN);
	return 0;
}

/* --- notifications --- */

/* Send a notification of the programs to the controllers that want it (ring_buffer_sample_fn).
 * Returns 0: others follow. */
static int notified(void *context, void *data, size_t bytes)
{
	(void)context;
	(void)bytes;
	relays_notify(&relays, data);
	return 0;
}

/* Notifications are in the ring (struct watch). */
static void read_notifications(struct watch *watch, __u32 events)
{
	(void)watch;
	(void)events;
	if (monitoring.notifications && ring_buffer__consume(monitoring.notifications) > 0)
		relays_serve(&relays);
}

/* Wait for notifications if a controller wants them. Until then they stay in the kernel. */
static void watch_notifications(void)
{
	static struct watch watch = { read_notifications, NULL };
	static ino_t watched; /* state whose ring is waited for; 0: none */
	bool wanted = monitoring.notifications && relays_want_notifications(&relays);

	/* The ring of another state was closed, and is not waited for any more. */
	if (watched != monitoring.followed)
		watched = 0;
	if (wanted == (watched != 0))
		return;
	if (wanted)
		loop_add(&loop, ring_buffer__epoll_fd(monitoring.notifications), &watch, EPOLLIN);
	else
		loop_remove(&loop, ring_buffer__epoll_fd(monitoring.notifications));
	watched = wanted ? monitoring.followed : 0;
}

/* --- the process --- */

/* Serve until a signal ends it. Returns 0, or -1 after complain(). */
static int run(void)
{
	__u64 looked = clock_ns(CLOCK_MONOTONIC), now;

	while (!ended) {
		if (loop_wait(&loop, LOOK_MS))
			return -1;
		if (monitoring.ports.changed) /* a switch has just said so */
			monitoring_follow(&monitoring);
		now = clock_ns(CLOCK_MONOTONIC);
		if (now - looked >= LOOK_MS * 1000000ULL) {
			looked = now;
			monitoring_follow(&monitoring);
			relays_serve(&relays);
			relays_connect(&relays);
		}
		relays_clean(&relays);
		watch_notifications();
	}
	return 0;
}

/* Open all, serve, and close it. Returns 0, or -1 after complain(). */
static int serve(void)
{
	static struct watch signals;
	int error;

	loop.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (loop.epoll < 0) {
		complain("cannot wait for connections: %s", strerror(errno));
		return -1;
	}
	if (watch_signals(&signals) || monitoring_open(&monitoring, options.state))
		return -1;
	error = relays_open(&relays) ? -1 : 0;
	if (!error) {
		puts("{\"event\": \"ready\"}");
		fflush(stdout);
		error = run();
	}
	relays_close(&relays);
	monitoring_close(&monitoring);
	return error;
}

int main(int argc, char **argv)
{
	options_parse(argc, argv, documentation, NULL, descriptions, NULL);
	monitoring.ports.how = (enum hook)options.attach;
	monitoring.notified = notified;
	libbpf_log_keep();
	return serve() ? 1 : 0;
}
