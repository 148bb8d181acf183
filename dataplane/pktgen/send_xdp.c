// SPDX-License-Identifier: Apache-2.0
/* Engine `xdp` of sfc-pktgen: the kernel makes frames and hands each to send.bpf.c, without a
 * system call or a socket buffer per packet (Linux 5.18: BPF_F_TEST_XDP_LIVE_FRAMES). */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "../common/libbpf_log.h"
#include "../common/report.h"
#include "engines.h"
#include "pace.h"
#include "settings.h"

#include "send.skel.h" /* needs the types of its variables */

#define FULL_BATCH 64
#define SHORT_BATCH 8
/* Batches are full above this rate, and short below: a packet leaves only with the last of its
 * batch. */
#define FULL_BATCH_INTERVAL_NS 500

/* A thread that ends the kernel's call when the program has seen the end. Only a signal ends
 * that call. Short calls would not do: each costs some 16 ms before its first packet. */
struct watch {
	const volatile __u32 *ended; /* of the program's state */
	volatile bool over; /* the thread is to end */
	pthread_t sender, thread; /* the thread that sends, and this one */
};

/* The thread: looks each millisecond whether the program has seen the end, and then signals. */
static void *watch_end(void *context)
{
	const struct timespec pause = { .tv_nsec = 1000 * 1000 };
	struct watch *watch = context;

	while (!watch->over) {
		nanosleep(&pause, NULL);
		if (*watch->ended)
			pthread_kill(watch->sender, SIGALRM);
	}
	return NULL;
}

/* Start the thread, with all signals blocked: they are for the sender. Returns 0, or -1 after
 * complain(). */
static int watch_start(struct watch *watch)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&watch->thread, NULL, watch_end, watch);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error)
		complain("no thread: %s", strerror(error));
	return error ? -1 : 0;
}

/* End the thread, and wait for its end. */
static void watch_stop(struct watch *watch)
{
	watch->over = true;
	pthread_join(watch->thread, NULL);
}

/* Let the kernel hand `repeat` frames to the program by one call, or fewer until a signal. Returns
 * 0, or -1 after complain(). */
static int send_some(int program, const struct pktgen_settings *settings, int repeat)
{
	static __u8 frame[PKTGEN_HEAD_BYTES + 2048];
	__u32 batch = settings->interval >> PKTGEN_TICKS > FULL_BATCH_INTERVAL_NS ? SHORT_BATCH
										  : FULL_BATCH;
	LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame, .data_size_in = settings->longest,
		    .repeat = repeat, .flags = BPF_F_TEST_XDP_LIVE_FRAMES, .batch_size = batch);

	if (bpf_prog_test_run_opts(program, &options) == 0 || errno == EINTR)
		return 0;
	complain("the kernel does not send frames of XDP: %s%s", strerror(errno),
		 errno == EINVAL ? " (Linux 5.18 does); use --engine packet" : "");
	return -1;
}

/* Send until the time is over or a signal ends it: by long calls, or one frame between two sleeps.
 * Returns 0, or -1 after complain(). */
static int send_all(int program, const struct pktgen_settings *settings, struct pktgen_state *state)
{
	bool sleeps = pace_sleep_pays(settings);
	int error = 0;

	while (!error && !pace_stopped() && !*(volatile __u32 *)&state->ended) {
		error = send_some(program, settings, sleeps ? 1 : INT_MAX);
		if (sleeps)
			pace_sleep_until_due(settings, state);
	}
	return error;
}

int send_by_xdp(const struct job *job, const struct pktgen_settings *settings, struct sent *sent)
{
	struct send_bpf *skeleton = send_bpf__open();
	struct watch watch = { .sender = pthread_self() };
	struct pktgen_state *state;
	int error;

	if (!skeleton) {
		complain("cannot open the XDP program: %s", strerror(errno));
		return -1;
	}
	memcpy((void *)&skeleton->rodata->settings, settings, sizeof(*settings));
	if (send_bpf__load(skeleton)) {
		libbpf_complain_of_load("the XDP program", errno);
		send_bpf__destroy(skeleton);
		return -1;
	}
	state = &skeleton->bss->state;
	state->random = (__u64)job->run << 32 | 1; /* never 0 */
	if (settings->zipf)
		settings_zipf(job->zipf, settings->flows, skeleton->bss->picks);
	watch.ended = &state->ended;
	error = watch_start(&watch);
	if (!error) {
		error = send_all(bpf_program__fd(skeleton->progs.send), settings, state);
		watch_stop(&watch);
	}
	sent->state = *state;
	send_bpf__destroy(skeleton);
	return error;
}
