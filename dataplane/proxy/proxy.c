// SPDX-License-Identifier: Apache-2.0
/* sfc-proxy: an SFC proxy at the two ports of a function that takes plain IP. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>
#include <linux/if_link.h>

#include "../attach/clsact.h"
#include "../attach/link.h"
#include "../attach/xdp.h"
#include "../common/interface.h"
#include "../common/libbpf_log.h"
#include "../common/options.h"
#include "../common/percpu.h"
#include "../common/report.h"
#include "../common/signals.h"
#include "../common/stats.h"
#include "proxy.h"
#include "proxy.skel.h"

#define PRIORITY 0x9000 /* behind programs that look at packets of the function */

const char tool_name[] = "sfc-proxy";

static const char documentation[] =
	"Takes the NSH off packets that arrive at either port of a function, and puts it on those "
	"that leave by the other one, with the SI decremented (SFC proxy, RFC 7665).\v"
	"One chain at a time may cross the function. Prints JSON Lines on stdout: `ready` when it "
	"works, `counters` on SIGUSR1 and at the end (SIGTERM or SIGINT).";

static const char *names[PORTS], *stats;
static struct interface interfaces[PORTS];
static int links[PORTS] = { -1, -1 };
static unsigned int filters; /* ports that have their filter */
static struct proxy_bpf *skeleton;

static struct tool_option descriptions[] = {
	{ "ingress", 'i', "NAME", "the port where packets of the forward direction arrive",
	  take_interface, &names[PORT_INGRESS], .required = true },
	{ "egress", 'e', "NAME", "the port where they leave", take_interface, &names[PORT_EGRESS],
	  .required = true },
	{ "stats", 's', "FILE", "write the counters to FILE too", take_text, &stats },
	{ 0 },
};

static int load(void)
{
	skeleton = proxy_bpf__open();
	if (!skeleton) {
		complain("cannot open the BPF programs: %s", strerror(errno));
		return -1;
	}
	for (int i = 0; i < PORTS; i++) {
		if (find_interface(names[i], &interfaces[i]))
			return -1;
		skeleton->rodata->ports[i] = (__u32)interfaces[i].index;
		memcpy((void *)skeleton->rodata->port_macs[i], interfaces[i].mac,
		       sizeof(interfaces[i].mac));
	}
	if (proxy_bpf__load(skeleton)) {
		libbpf_complain_of_load("the BPF programs", errno);
		return -1;
	}
	return 0;
}

/* Generic XDP: drivers differ in what else they need, and a function behind a proxy gets its
 * packets from the kernel anyway. */
static int attach(void)
{
	const int wrap = bpf_program__fd(skeleton->progs.wrap);
	const int unwrap = bpf_program__fd(skeleton->progs.unwrap);

	for (filters = 0; filters < PORTS; filters++) {
		int error =
			tool_filter_attach(interfaces[filters].index, AT_EGRESS, PRIORITY, wrap);

		if (error) {
			complain("cannot attach to %s: %s", interfaces[filters].name,
				 strerror(-error));
			return -1;
		}
	}
	for (int i = 0; i < PORTS; i++) {
		links[i] = xdp_link(interfaces[i].index, unwrap, XDP_FLAGS_SKB_MODE);
		if (links[i] < 0) {
			complain("cannot attach to %s: %s", interfaces[i].name,
				 xdp_attach_error(interfaces[i].index, links[i]));
			return -1;
		}
	}
	return 0;
}

static void detach(void)
{
	for (int i = 0; i < PORTS; i++)
		if (links[i] >= 0)
			link_detach(links[i]);
	while (filters > 0)
		tool_filter_detach(interfaces[--filters].index, AT_EGRESS, PRIORITY);
}

static void report_counters(bool print)
{
	struct proxy_counters now = { 0 };

	percpu_sum(bpf_map__fd(skeleton->maps.counters), 0, &now, sizeof(now));
	fprintf(stats_begin(),
		"\"received_ingress\": %llu, \"received_egress\": %llu, \"sent_ingress\": %llu, "
		"\"sent_egress\": %llu, \"drops\": {\"nsh\": %llu, \"si\": %llu, \"path\": %llu}",
		now.received[PORT_INGRESS], now.received[PORT_EGRESS], now.sent[PORT_INGRESS],
		now.sent[PORT_EGRESS], now.dropped_nsh, now.dropped_si, now.dropped_path);
	stats_end(print);
}

int main(int argc, char **argv)
{
	sigset_t signals;

	options_parse(argc, argv, documentation, NULL, descriptions, NULL);
	libbpf_log_keep();
	signals_block(&signals, 0);
	if (stats_open(stats))
		return 1;
	if (load() || attach()) {
		detach();
		return stats_failed(true);
	}
	puts("{\"event\": \"ready\"}");
	fflush(stdout);
	report_counters(false);
	while (signals_ask_for_counters(&signals))
		report_counters(true);
	detach();
	report_counters(true);
	return 0;
}
