// SPDX-License-Identifier: Apache-2.0
/* sfc-delay: a synthetic function with a known processing time, for judging monitors.
 *
 * The kernel routes packets into TUN devices, by direction; each is written back after the delay,
 * and the kernel routes it on. So packets pass the tc hooks on both sides, which they would not
 * with a packet socket. */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../../dataplane/common/cpus.h"
#include "../../dataplane/common/options.h"
#include "../../dataplane/common/report.h"
#include "../../dataplane/common/signals.h"
#include "../../dataplane/common/stats.h"
#include "forward.h"

const char tool_name[] = "sfc-delay";

static const char documentation[] =
	"Reads IPv4 packets from two TUN devices and writes each back after a known time.\v"
	"Prints JSON Lines on stdout: `ready` when it forwards, `counters` on SIGUSR1 and at the "
	"end (SIGTERM or SIGINT). The caller sets the routes into the devices.";

static struct options options = { .tun = "sfc-delay" };
static long delay_us = 1000;
static long spin_us = 200;
static long buffer_mib = 32;

static struct tool_option descriptions[] = {
	{ "tun", 't', "NAME", "TUN devices to create: NAME0 and NAME1 (default sfc-delay)",
	  take_interface, &options.tun },
	{ "delay-us", 'd', "US", "time from receive to send, 0 to 10000000 (default 1000)",
	  take_integer, &delay_us, .least = 0, .most = 10000000 },
	{ "spin-us", 'w', "US",
	  "how long before a packet is due the clock is polled, 0 to 10000000 (default 200)",
	  take_integer, &spin_us, .least = 0, .most = 10000000 },
	{ "buffer-mib", 'b', "MIB", "room for packets in flight, 1 to 4096 (default 32)",
	  take_integer, &buffer_mib, .least = 1, .most = 4096 },
	{ "stats", 's', "FILE", "write the counters to FILE too", take_text, &options.stats },
	{ 0 },
};

/* Parse the command line. A wrong option ends the program with status 2 and a message. */
static const struct options *parse_options(int argc, char **argv)
{
	options_parse(argc, argv, documentation, NULL, descriptions, NULL);
	if (strlen(options.tun) + 1 >= IF_NAMESIZE)
		refuse("--tun: '%s' has no room for a number", options.tun);
	options.delay_ns = (uint64_t)delay_us * NS_PER_US;
	options.spin_ns = (uint64_t)spin_us * NS_PER_US;
	options.buffer_bytes = (size_t)buffer_mib << 20;
	return &options;
}

/* What the thread that forwards and the one that reports share. */
struct work {
	const struct options *options;
	struct queue *queue;
	struct statistics statistics;
	int tuns[TUNS]; /* descriptors of the TUN devices */
	int stop; /* eventfd: readable when the thread that forwards is to end */
	int status; /* of that thread, once it has ended: 0, or -1 after complain() */
};

static unsigned long long value(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

/* Write the counters to stdout and to the stats file. */
static void report_counters(const struct statistics *statistics)
{
	unsigned long long forwarded = value(&statistics->forwarded);
	unsigned long long full = value(&statistics->dropped_full);
	unsigned long long send = value(&statistics->dropped_send);

	/* Before the first packet is forwarded, the minimum is UINT64_MAX: 0 is printed for it. */
	fprintf(stats_begin(),
		"\"received\": %llu, \"forwarded\": %llu, \"dropped\": %llu, "
		"\"drops\": {\"full\": %llu, \"send\": %llu}, \"delay_sum_ns\": %llu, "
		"\"delay_min_ns\": %llu, \"delay_max_ns\": %llu",
		value(&statistics->received), forwarded, full + send, full, send,
		value(&statistics->delay_sum_ns), forwarded ? value(&statistics->delay_min_ns) : 0,
		value(&statistics->delay_max_ns));
	stats_end(true);
}

/* Create a TUN device NAMENUMBER for IPv4 packets, without extra header and without offloads. It
 * goes with its descriptor, which is returned; -1 after complain(). */
static int tun_open(const char *name, int number)
{
	/* TUNSETOFFLOAD is not called, so the kernel completes checksums and segments before it
	 * hands packets over. */
	struct ifreq request = { .ifr_flags = IFF_TUN | IFF_NO_PI };
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0) {
		complain("cannot open /dev/net/tun: %s", strerror(errno));
		return -1;
	}
	snprintf(request.ifr_name, IF_NAMESIZE, "%s%d", name, number);
	if (ioctl(fd, TUNSETIFF, &request)) {
		complain("cannot create the TUN device %s: %s", request.ifr_name, strerror(errno));
		close(fd);
		return -1;
	}
	return fd;
}

/* The thread that forwards: `argument` is a struct work, whose `status` it sets. */
static void *run(void *argument)
{
	struct work *work = argument;

	/* Sleep as exactly as the timer can. */
	prctl(PR_SET_TIMERSLACK, 1UL);
	work->status = forward_packets(work->options, work->tuns, work->stop, work->queue,
				       &work->statistics);
	/* Let the other thread, which waits for signals, end the process. */
	if (work->status)
		kill(getpid(), SIGTERM);
	return NULL;
}

/* Report counters until SIGTERM or SIGINT. Another thread forwards packets, so that no report
 * delays them. Returns 0, or -1 after complain(). */
static int serve(struct work *work, const sigset_t *signals)
{
	pthread_t thread;

	if (cpus_start_thread(&thread, -1, run, work))
		return -1;
	printf("{\"event\": \"ready\", \"tun\": \"%s\", \"delay_us\": %llu}\n", work->options->tun,
	       (unsigned long long)(work->options->delay_ns / NS_PER_US));
	do {
		report_counters(&work->statistics);
	} while (signals_ask_for_counters(signals));
	eventfd_write(work->stop, 1);
	pthread_join(thread, NULL);
	/* After a failure main() reports that instead. */
	if (work->status == 0)
		report_counters(&work->statistics);
	return work->status;
}

/* Make the queue and the TUN devices, and delay packets until a signal ends it. Returns 0, or -1
 * after complain(). */
static int delay(const struct options *options, const sigset_t *signals)
{
	struct work work = { .options = options, .tuns = { -1, -1 }, .stop = -1 };
	int status = -1;

	atomic_store(&work.statistics.delay_min_ns, UINT64_MAX);
	work.queue = queue_new(options->buffer_bytes);
	if (!work.queue)
		goto cleanup;
	work.stop = eventfd(0, EFD_CLOEXEC);
	if (work.stop < 0) {
		complain("cannot create an eventfd: %s", strerror(errno));
		goto cleanup;
	}
	for (int i = 0; i < TUNS; i++) {
		work.tuns[i] = tun_open(options->tun, i);
		if (work.tuns[i] < 0)
			goto cleanup;
	}
	status = serve(&work, signals);
cleanup:
	for (int i = 0; i < TUNS; i++)
		if (work.tuns[i] >= 0)
			close(work.tuns[i]);
	if (work.stop >= 0)
		close(work.stop);
	queue_free(work.queue);
	return status;
}

int main(int argc, char **argv)
{
	const struct options *options = parse_options(argc, argv);
	sigset_t signals;

	signals_block(&signals, 0);
	if (stats_open(options->stats))
		return 1;
	return delay(options, &signals) ? stats_failed(true) : 0;
}
