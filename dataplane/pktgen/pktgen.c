// SPDX-License-Identifier: Apache-2.0
/* sfc-pktgen: sends packets at a set rate, and counts them where they arrive. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../common/libbpf_log.h"
#include "../common/report.h"
#include "../common/signals.h"
#include "job.h"
#include "lab.h"
#include "receiver.h"
#include "sender.h"

#define SETTLE_MS 200 /* packets on a private cable arrive within this time */

/* End the line of JSON. Returns the exit status. */
static int finish(void)
{
	puts("}");
	return fflush(stdout) ? 1 : 0;
}

/* Send, and print what was sent. Returns the exit status. */
static int run_sender(const struct job *job)
{
	struct interface interface;
	struct sent sent = { 0 };
	struct path path;

	if (find_interface(job->interface, &interface) || find_path(&interface, job->to, &path) ||
	    send_packets(job, &interface, &path, &sent))
		return 1;
	printf("{");
	print_sent(job, &sent);
	return finish();
}

/* Print `ready`, the counters on SIGUSR1, and all that is known at the end (not for ACCEPT, which
 * counts nothing). Returns the exit status. */
static int run_receiver(const struct job *job)
{
	struct interface interface;
	sigset_t signals;
	bool counts = job->role == RECEIVE;

	signals_block(&signals, 0);
	if (find_interface(job->interface, &interface) ||
	    (counts ? receiver_start(job, &interface) : accept_start(&interface)))
		return 1;
	printf("{\"ready\": \"%s\"}\n", receiver_mode());
	fflush(stdout);
	while (signals_ask_for_counters(&signals)) {
		printf("{");
		receiver_print(false);
		finish();
	}
	if (!counts)
		return 0;
	printf("{");
	receiver_print(true);
	return finish();
}

/* Send over a private cable, receive at its other end, and print both. Returns the exit status. */
static int run_calibration(const struct job *job)
{
	struct interface near, far;
	struct sent sent = { 0 };
	/* 198.18.0.1 and 198.18.0.2, of the addresses for benchmarks (RFC 2544). */
	struct path path = { .from.s_addr = htonl(0xc6120001), .to.s_addr = htonl(0xc6120002) };
	const struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };

	if (lab_enter(&near, &far) || receiver_start(job, &far))
		return 1;
	memcpy(path.source, near.mac, sizeof(path.source));
	memcpy(path.next_hop, far.mac, sizeof(path.next_hop));
	if (send_packets(job, &near, &path, &sent))
		return 1;
	for (int ms = 0; ms < SETTLE_MS && receiver_packets() < sent.state.packets; ms += 10)
		nanosleep(&pause, NULL);
	printf("{");
	print_sent(job, &sent);
	printf(", ");
	receiver_print(true);
	return finish();
}

int main(int argc, char **argv)
{
	const struct job *job = job_parse(argc, argv);

	libbpf_log_keep();
	switch ((enum role)job->role) {
	case SEND:
		return run_sender(job);
	case CALIBRATE:
		return run_calibration(job);
	default:
		return run_receiver(job);
	}
}
