// SPDX-License-Identifier: Apache-2.0
/* pptmon: packet processing time of a VNF, in band (README.md). */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "../common/libbpf_log.h"
#include "../common/report.h"
#include "../common/signals.h"
#include "attach.h"
#include "events.h"
#include "kernel.h"
#include "options.h"
#include "output.h"
#include "program.h"
#include "serve.h"

#define FINISH_TIMEOUT_MS 2000 /* how long the reader may take for what is left at the end */

/* Exit status of pptmon. */
enum status {
	STATUS_DONE,
	STATUS_FAILED,
	STATUS_OPTIONS,
	STATUS_KERNEL,
};

static void complain_of_lacks(const struct lacks *lacks)
{
	/* Complain about the last one first: the last complaint is reported as the reason. */
	for (int i = lacks->count - 1; i >= 0; i--)
		complain("cannot run here for lack of %s", lacks->what[i]);
}

/* Find out whether the verifier accepts the programs, in every mode. */
static void check_load(struct lacks *lacks)
{
	struct options unused = { .settings = { .metric_count = 1, .period_ns = 1, .mtu = 1500 } };

	for (int mode = PPT_MODE_SOURCE; mode <= PPT_MODE_SOURCE_SINK && !lacks->count; mode++) {
		unused.settings.mode = (__u8)mode;
		if (program_load(&unused.settings))
			lack(lacks, "a verifier that accepts the BPF programs: it says\n%.560s",
			     libbpf_log_reason());
		program_unload();
	}
}

/* Say what this kernel lacks (option --check). */
static enum status check(const struct options *options)
{
	struct lacks lacks;
	enum hook hook = kernel_check(options->attach, &lacks);

	if (!lacks.count)
		check_load(&lacks);
	report_check(&lacks, hook == HOOK_AUTO ? NULL : hook_names[hook]);
	complain_of_lacks(&lacks);
	if (output_finish(FINISH_TIMEOUT_MS))
		return STATUS_FAILED;
	return lacks.count ? STATUS_KERNEL : STATUS_DONE;
}

/* Do packets seem to be in the VNF that got a header or a hop, and no time yet? */
static bool packets_inside(void)
{
	__u64 counters[PPT_COUNTERS];

	program_counters(counters);
	return counters[PPT_MEASURED] < counters[PPT_SAMPLED] + counters[PPT_ADDED];
}

/* Attach, and serve until the end. Packets that are in the VNF then still get their time. */
static enum status measure(const struct options *options, enum hook hook)
{
	__u64 counters[PPT_COUNTERS];
	enum outcome outcome;

	program_show_alive(); /* first, or the programs take this process for dead */
	if (attach_both(bpf_program__fd(program->progs.enter),
			bpf_program__fd(program->progs.leave)))
		return STATUS_FAILED;
	report_ready(options, hook_names[hook]);
	outcome = serve();
	detach_both(packets_inside);
	if (outcome == OUTCOME_UNHEARD)
		complain("nobody reads stdout any more");
	if (outcome != OUTCOME_ASKED)
		return STATUS_FAILED;
	serve_rest(FINISH_TIMEOUT_MS);
	program_counters(counters);
	report_counters(counters);
	return STATUS_DONE;
}

/* Load the programs and measure until the end. The hook is prepared first, so that the guard
 * holds nothing of the programs. */
static enum status load_and_measure(const struct options *options, const struct interface *ingress,
				    const struct interface *egress, const sigset_t *signals)
{
	struct ppt_settings settings = options->settings;
	struct lacks lacks;
	enum hook hook = kernel_check(options->attach, &lacks);

	complain_of_lacks(&lacks);
	if (lacks.count)
		return STATUS_KERNEL;
	settings.mtu = egress->mtu;
	settings.resolve_offloads = egress->has_device;
	if (attach_prepare(hook, ingress, egress))
		return STATUS_FAILED;
	if (program_load(&settings))
		return STATUS_KERNEL;
	if (serve_open(signals, ingress, egress))
		return STATUS_FAILED;
	return measure(options, hook);
}

/* Find an interface that is up. Returns 0, or -1 after complain(). */
static int find_usable(const char *name, struct interface *interface)
{
	if (find_interface(name, interface))
		return -1;
	if (interface->is_up)
		return 0;
	complain_of_interface(name, "is down (ip link set it up)");
	return -1;
}

/* Measure, undo everything in order, and report a failure. */
static enum status run(const struct options *options, const sigset_t *signals)
{
	struct interface ingress, egress;
	enum status status = STATUS_FAILED;

	if (find_usable(options->ingress, &ingress) == 0 &&
	    find_usable(options->egress, &egress) == 0)
		status = load_and_measure(options, &ingress, &egress, signals);
	detach_both(NULL); /* what is still attached, if measure() failed */
	attach_finish();
	serve_close();
	program_unload();
	if (status != STATUS_DONE)
		report_failed();
	else if (output_finish(FINISH_TIMEOUT_MS))
		status = STATUS_FAILED;
	return status;
}

int main(int argc, char **argv)
{
	const struct options *options;
	sigset_t signals;

	/* write() reports a reader that has gone. */
	signal(SIGPIPE, SIG_IGN);
	options = parse_options(argc, argv);
	libbpf_log_keep();
	if (options->check)
		return check(options);

	/* Block signals before anything is attached: they are taken where all can be undone in
	 * order. */
	signals_block(&signals, SIGHUP);
	return run(options, &signals);
}
