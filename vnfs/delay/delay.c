// SPDX-License-Identifier: Apache-2.0
/* sfc-delay: a synthetic function with a known processing time, for judging monitors.
 *
 * The kernel routes packets into a TUN device; each is given back after the delay, and the kernel
 * routes it on. So packets pass the tc hooks on both sides, which a packet socket would not let
 * them do. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "delay.h"

struct work {
	const struct options *options;
	struct line *line;
	struct statistics statistics;
	int tun;
	int stop;
	int status;
};

static void *run(void *argument)
{
	struct work *work = argument;

	/* Sleep as exactly as the timer can. */
	prctl(PR_SET_TIMERSLACK, 1UL);
	work->status = carry(work->options, work->tun, work->stop, work->line, &work->statistics);
	if (work->status)
		kill(getpid(), SIGTERM);
	return NULL;
}

/* Counters when asked, until SIGTERM or SIGINT; packets are carried by a thread of their own, so
 * that no report delays them. */
static int serve(struct work *work, const sigset_t *signals)
{
	pthread_t thread;
	int taken, status;

	status = pthread_create(&thread, NULL, run, work);
	if (status) {
		complain("cannot start a thread: %s", strerror(status));
		return -1;
	}
	report_ready(work->options);
	report_counters(&work->statistics);
	do {
		taken = sigwaitinfo(signals, NULL);
		if (taken == SIGUSR1)
			report_counters(&work->statistics);
	} while (taken == SIGUSR1 || (taken < 0 && errno == EINTR));
	eventfd_write(work->stop, 1);
	pthread_join(thread, NULL);
	if (work->status == 0)
		report_counters(&work->statistics);
	return work->status;
}

static int delay(const struct options *options, const sigset_t *signals)
{
	struct work work = { .options = options, .tun = -1, .stop = -1 };
	int status = -1;

	atomic_store(&work.statistics.delay_min_ns, UINT64_MAX);
	work.line = line_new(options->buffer_bytes);
	if (!work.line)
		goto cleanup;
	work.stop = eventfd(0, EFD_CLOEXEC);
	if (work.stop < 0) {
		complain("cannot make an eventfd: %s", strerror(errno));
		goto cleanup;
	}
	work.tun = tun_open(options->tun);
	if (work.tun < 0)
		goto cleanup;
	status = serve(&work, signals);
cleanup:
	if (work.tun >= 0)
		close(work.tun);
	if (work.stop >= 0)
		close(work.stop);
	line_free(work.line);
	return status;
}

int main(int argc, char **argv)
{
	struct options options;
	sigset_t signals;

	parse_options(argc, argv, &options);
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	/* Before any thread is there, so that all of them leave the signals to sigwaitinfo(). */
	sigprocmask(SIG_BLOCK, &signals, NULL);
	if (options.stats && report_open(options.stats))
		return 1;
	if (delay(&options, &signals)) {
		report_failed();
		return 1;
	}
	return 0;
}
