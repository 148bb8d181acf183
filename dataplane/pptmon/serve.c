// SPDX-License-Identifier: Apache-2.0
/* Waits for samples, signals and the reader of stdout, and serves them. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "../common/report.h"
#include "events.h"
#include "output.h"
#include "program.h"
#include "serve.h"

#define TAKE_ALL 0xffffffffU
#define SHARE 4 /* a period's packet is taken among the first quarter of its packets */
#define PERIODS 5 /* the rate of packets is averaged over so many periods, or longer */
#define AT_LEAST_NS 1000000000.0
#define TICK_MS 50
#define INTERFACES_EVERY 10 /* ticks; to ask for an interface opens a socket */

enum { ON_SIGNAL, ON_TIMER, ON_OUTPUT, ON_EVENT, SOURCES };

static struct ring_buffer *ring;
static int signal_fd = -1;
static int timer_fd = -1;
static const struct interface *interfaces[2];
static double packets_per_ns;
static __u64 seen_before;
static unsigned int tick;

/* Print a sample that the programs have sent (ring_buffer_sample_fn). */
static int on_event(void *to_unix_ns, void *event, size_t bytes)
{
	if (bytes >= sizeof(struct ppt_event))
		print_sample(event, *(__s64 *)to_unix_ns);
	/* A negative number stops the reading; this sample was taken nevertheless. */
	return output_full() ? -ENOBUFS : 0;
}

static __s64 to_unix_ns;

/* Print the samples that are in the ring. */
static void take_events(void)
{
	/* The difference is computed each time, because Unix time is steered, and stepped. */
	to_unix_ns = monotonic_to_unix_ns();
	ring_buffer__consume(ring);
}

int serve_open(const sigset_t *signals, const struct interface *ingress,
	       const struct interface *egress)
{
	const struct itimerspec period = {
		.it_interval.tv_nsec = TICK_MS * 1000000L,
		.it_value.tv_nsec = 1, /* the first tick comes at once */
	};

	interfaces[0] = ingress;
	interfaces[1] = egress;
	ring = ring_buffer__new(bpf_map__fd(program->maps.events), on_event, &to_unix_ns, NULL);
	signal_fd = signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK);
	timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (!ring || signal_fd < 0 || timer_fd < 0 || timerfd_settime(timer_fd, 0, &period, NULL)) {
		complain("cannot listen for samples: %s", strerror(errno));
		return -1;
	}
	return 0;
}

/* Serve the signals that came. Returns whether one of them is to end. */
static bool take_signals(void)
{
	struct signalfd_siginfo taken;
	__u64 counters[PPT_COUNTERS];

	while (read(signal_fd, &taken, sizeof(taken)) == sizeof(taken)) {
		if (taken.ssi_signo != SIGUSR1)
			return true;
		program_counters(counters);
		report_counters(counters);
	}
	return false;
}

/* Complain and return -1 if an interface has gone. */
static int check_interfaces(void)
{
	for (int i = 0; i < 2; i++) {
		if (interface_remains(interfaces[i]))
			continue;
		complain("interface %s has gone", interfaces[i]->name);
		return -1;
	}
	return 0;
}

/* Return the probability, in 2^-32, with which a source takes each packet that comes when a
 * sample is due. The first packet of a period is the head of a burst more often than not: it
 * waited for no other and finds caches cold. So the probability is such that choosing takes a
 * quarter of the period. */
static __u32 pick_probability(__u64 period_ns, __u64 elapsed_ns)
{
	__u64 seen_now = program_counter(PPT_SEEN);
	double window = (double)period_ns * PERIODS;
	double seen = (double)(seen_now - seen_before);
	double wanted, weight, candidates;

	if (period_ns == 0 || elapsed_ns == 0)
		return TAKE_ALL;
	if (window < AT_LEAST_NS)
		window = AT_LEAST_NS;
	weight = (double)elapsed_ns / window;
	if (weight > 1)
		weight = 1;
	/* An exponentially weighted average. */
	packets_per_ns += weight * (seen / (double)elapsed_ns - packets_per_ns);
	seen_before = seen_now;
	/* The filter lets through this share of the packets; 1 until some were judged. */
	wanted = (double)(program_counter(PPT_WANTED) + 1) /
		 (double)(program_counter(PPT_JUDGED) + 1);
	/* Packets of a quarter of the period, of which one is taken. */
	candidates = packets_per_ns * (double)period_ns * wanted / SHARE;
	return candidates <= 1 ? TAKE_ALL : (__u32)(TAKE_ALL / candidates);
}

/* Do what is due at each tick. Samples are fetched here, because the programs wake nobody for them.
 * Returns 0, or -1 after complain() if an interface has gone. */
static int take_tick(void)
{
	__u64 ticks;

	if (read(timer_fd, &ticks, sizeof(ticks)) != sizeof(ticks))
		return 0;
	if (!output_full())
		take_events();
	if (program_period_ns())
		program_set_pick(pick_probability(program_period_ns(), ticks * TICK_MS * 1000000));
	program_show_alive();
	return tick++ % INTERFACES_EVERY == 0 ? check_interfaces() : 0;
}

/* Wait for something to do: poll() fills in `sources`. It reports by itself that the reader has
 * gone; it is asked for room only when something is kept. */
static void wait_for(struct pollfd *sources)
{
	sources[ON_SIGNAL] = (struct pollfd){ .fd = signal_fd, .events = POLLIN };
	sources[ON_TIMER] = (struct pollfd){ .fd = timer_fd, .events = POLLIN };
	sources[ON_OUTPUT] =
		(struct pollfd){ .fd = STDOUT_FILENO, .events = output_pending() ? POLLOUT : 0 };
	sources[ON_EVENT] = (struct pollfd){ .fd = output_full() ? -1 : ring_buffer__epoll_fd(ring),
					     .events = POLLIN };
	if (poll(sources, SOURCES, -1) < 0)
		for (int i = 0; i < SOURCES; i++)
			sources[i].revents = 0;
}

enum outcome serve(void)
{
	struct pollfd sources[SOURCES];

	for (;;) {
		if (output_flush())
			return OUTCOME_UNHEARD;
		wait_for(sources);
		if (sources[ON_OUTPUT].revents & (POLLERR | POLLNVAL))
			return OUTCOME_UNHEARD;
		if (sources[ON_EVENT].revents)
			take_events();
		if (sources[ON_TIMER].revents && take_tick())
			return OUTCOME_FAILED;
		if (sources[ON_SIGNAL].revents && take_signals())
			return OUTCOME_ASKED;
	}
}

void serve_rest(int timeout_ms)
{
	take_events();
	/* There may be more samples than are kept for a slow reader: fetch them as it takes the
	 * kept ones. */
	while (output_full() && output_finish(timeout_ms) == 0)
		take_events();
}

void serve_close(void)
{
	ring_buffer__free(ring);
	ring = NULL;
	if (signal_fd >= 0)
		close(signal_fd);
	if (timer_fd >= 0)
		close(timer_fd);
	signal_fd = timer_fd = -1;
}
