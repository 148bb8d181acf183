// SPDX-License-Identifier: Apache-2.0
/* sfc-port-pair: connects an NSH-aware function that has one interface to the two ports of a port
 * pair, by filters of clsact. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "../attach/clsact.h"
#include "../common/interface.h"
#include "../common/libbpf_log.h"
#include "../common/options.h"
#include "../common/percpu.h"
#include "../common/report.h"
#include "../common/signals.h"
#include "../common/stats.h"
#include "port_pair.h"
#include "port_pair.skel.h"

#define PRIORITY 0x2000 /* before those of monitors at the ports (0x3000, 0x4000) */

const char tool_name[] = "sfc-port-pair";

static const char documentation[] =
	"Leads the NSH frames that arrive at a port of a pair to a network function with one "
	"interface, and those that the function returns out of the other port.\v"
	"The function has one end of a veth pair, --function; --inside is the other end. Prints "
	"JSON Lines on stdout: `ready` when frames are led, `counters` on SIGUSR1 and at the end "
	"(SIGTERM or SIGINT).";

enum place {
	PLACE_INSIDE = PORTS,
	PLACES,
};

static const char *names[PLACES], *function_name;
static struct interface interfaces[PLACES], function;
static unsigned int attached; /* places that have their filter */
static struct port_pair_bpf *skeleton;
static const char *stats;

static struct tool_option descriptions[] = {
	{ "ingress", 'i', "NAME", "the port where packets of the forward direction arrive",
	  take_interface, &names[PORT_INGRESS], .required = true },
	{ "egress", 'e', "NAME", "the port where they leave", take_interface, &names[PORT_EGRESS],
	  .required = true },
	{ "inside", 'n', "NAME", "the near end of the function's veth pair", take_interface,
	  &names[PLACE_INSIDE], .required = true },
	{ "function", 'f', "NAME", "the end that the function has", take_interface, &function_name,
	  .required = true },
	{ "stats", 's', "FILE", "write the counters to FILE too", take_text, &stats },
	{ 0 },
};

static int find_interfaces(void)
{
	for (int i = 0; i < PLACES; i++)
		if (find_interface(names[i], &interfaces[i]))
			return -1;
	return find_interface(function_name, &function);
}

static int load(void)
{
	skeleton = port_pair_bpf__open();
	if (!skeleton) {
		complain("cannot open the BPF programs: %s", strerror(errno));
		return -1;
	}
	for (int i = 0; i < PORTS; i++) {
		skeleton->rodata->ports[i] = (__u32)interfaces[i].index;
		memcpy((void *)skeleton->rodata->port_macs[i], interfaces[i].mac,
		       sizeof(interfaces[i].mac));
	}
	skeleton->rodata->inside = (__u32)interfaces[PLACE_INSIDE].index;
	memcpy((void *)skeleton->rodata->function_mac, function.mac, sizeof(function.mac));
	if (port_pair_bpf__load(skeleton)) {
		libbpf_complain_of_load("the BPF programs", errno);
		return -1;
	}
	return 0;
}

/* The way out comes first: what is led to the function must be able to leave it. */
static int attach(void)
{
	for (attached = 0; attached < PLACES; attached++) {
		const unsigned int place = PLACES - 1 - attached;
		const struct bpf_program *program =
			place == PLACE_INSIDE ? skeleton->progs.leave : skeleton->progs.arrive;
		int error = tool_filter_attach(interfaces[place].index, AT_INGRESS, PRIORITY,
					       bpf_program__fd(program));

		if (error) {
			complain("cannot attach to %s: %s", interfaces[place].name,
				 strerror(-error));
			return -1;
		}
	}
	return 0;
}

static void detach(void)
{
	while (attached > 0)
		tool_filter_detach(interfaces[PLACES - attached--].index, AT_INGRESS, PRIORITY);
}

static void report_counters(bool print)
{
	struct port_pair_counters now = { 0 };

	percpu_sum(bpf_map__fd(skeleton->maps.counters), 0, &now, sizeof(now));
	fprintf(stats_begin(),
		"\"received_ingress\": %llu, \"received_egress\": %llu, \"sent_ingress\": %llu, "
		"\"sent_egress\": %llu, \"dropped\": %llu",
		now.received[PORT_INGRESS], now.received[PORT_EGRESS], now.sent[PORT_INGRESS],
		now.sent[PORT_EGRESS], now.dropped);
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
	if (find_interfaces() || load() || attach()) {
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
