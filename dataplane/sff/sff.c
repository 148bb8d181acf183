// SPDX-License-Identifier: Apache-2.0
/* sfc-sff: classifier, SFF and SFC proxy of one node, in XDP and tc. */
#include <errno.h>
#include <limits.h>
#include <net/if.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "../common/libbpf_log.h"
#include "../common/options.h"
#include "../common/report.h"
#include "../common/signals.h"
#include "../common/stats.h"
#include "attach.h"
#include "maps.h"

#define ON_THE_WAY_MS 1000 /* packets that old tables sent on their way arrive within this time */

const char tool_name[] = "sfc-sff";

static const char documentation[] =
	"Classifier, service function forwarder and SFC proxy of one node (RFC 7665), by XDP and "
	"tc.\v"
	"Prints JSON Lines on stdout: `ready` when it forwards, `counters` on SIGUSR1 and at the "
	"end (SIGTERM or SIGINT). SIGHUP makes it read its tables again: they change all at once, "
	"or not at all if there is an error, which the counters then show. dataplane/sff/README.md "
	"describes the file.";

static struct {
	const char *tables;
	const char *stats; /* NULL: no stats file */
	long rules;
	bool check;
	bool probe;
} options;

static struct tool_option descriptions[] = {
	{ "tables", 't', "FILE", "ports, paths and rules", take_text, &options.tables,
	  .required = true },
	{ "stats", 's', "FILE", "write the counters to FILE too", take_text, &options.stats },
	{ "rules", 'r', "COUNT", "room for so many classifier rules (default: as in FILE)",
	  take_integer, &options.rules, .least = 0, .most = 10000000 },
	{ "check", 0, NULL, "read the tables, complain about them, and end", take_flag,
	  &options.check },
	{ "probe", 0, NULL, "ask the kernel whether it accepts the programs, and end", take_flag,
	  &options.probe, .excuses = true },
	{ 0 },
};

static struct sff_bpf *skeleton;
static unsigned int room; /* for classifier rules */
static unsigned long loads; /* of the tables, after the first load */
static char refused[512]; /* why the last load was refused; "": it was not */

/* Return the number of an interface of this namespace, or -1 after complain(). */
static int find_index(const char *name)
{
	int index = (int)if_nametoindex(name);

	if (!index)
		complain("there is no interface %s", name);
	else if (index >= SFF_IFINDEXES)
		complain("%s has the number %d in its network namespace; at most %d is possible: "
			 "use "
			 "a new namespace",
			 name, index, SFF_IFINDEXES - 1);
	else
		return index;
	return -1;
}

/* Interfaces that the programs are attached to. */
struct attached {
	int ifindexes[SFF_PORTS + 1];
	unsigned int count;
};

/* Attach to the interfaces of the tap and of all ports (by number; 0: no port). `now` gets those
 * that were tried. Returns 0, or -1 after complain(). */
static int attach_all(const struct tables *tables, const int *interfaces, struct attached *now)
{
	if (skeleton->rodata->tap_far) {
		now->ifindexes[now->count++] = (int)skeleton->rodata->tap_far;
		if (attach(skeleton, tables->tap_far, (int)skeleton->rodata->tap_far, false))
			return -1;
	}
	for (int number = 0; number < SFF_PORTS; number++) {
		if (!interfaces[number])
			continue;
		now->ifindexes[now->count++] = interfaces[number];
		if (attach(skeleton, tables->ports[number].interface, interfaces[number],
			   tables->ports[number].generic))
			return -1;
	}
	return 0;
}

/* Refuse other addresses of the node or interfaces of the tap than at the first call: packets on
 * their way rely on them, and the programs were loaded with them. Returns 0, or -1 after
 * complain(). */
static int check_same_node(const struct tables *tables)
{
	static struct tables first;
	static bool known;

	if (!known) {
		memcpy(first.mac, tables->mac, sizeof(first.mac));
		first.address = tables->address;
		strcpy(first.tap_near, tables->tap_near);
		strcpy(first.tap_far, tables->tap_far);
		known = true;
	}
	if (memcmp(first.mac, tables->mac, sizeof(first.mac)) == 0 &&
	    first.address == tables->address && strcmp(first.tap_near, tables->tap_near) == 0 &&
	    strcmp(first.tap_far, tables->tap_far) == 0)
		return 0;
	complain("%s: the addresses of the node and the interfaces of the tap cannot change; start "
		 "%s again",
		 options.tables, tool_name);
	return -1;
}

/* Attach to the interfaces, and use the tables. Returns 0, or -1 after complain(); then all is as
 * it was. */
static int use(const struct tables *tables)
{
	static struct attached before; /* of the tables in use */
	int interfaces[SFF_PORTS] = { 0 };
	struct attached now = { .count = 0 };

	for (int number = 0; number < SFF_PORTS; number++) {
		const char *name = tables->ports[number].interface;

		if (*name && (interfaces[number] = find_index(name)) < 0)
			return -1;
	}
	if (check_same_node(tables))
		return -1;
	/* Interfaces of both the old and the new tables are attached while these change. */
	if (attach_all(tables, interfaces, &now) || maps_apply(skeleton, tables, interfaces)) {
		attach_only(before.ifindexes, before.count);
		return -1;
	}
	attach_only(now.ifindexes, now.count);
	before = now;
	return 0;
}

/* Load the programs, and use the first tables. Returns 0, or -1 after complain(). */
static int load(const struct tables *tables)
{
	int near = 0, far = 0;

	skeleton = sff_bpf__open();
	if (skeleton)
		room = maps_size(skeleton, tables, (unsigned int)options.rules);
	if (!skeleton || !room) {
		complain("cannot open the BPF programs: %s", strerror(errno));
		return -1;
	}
	if (*tables->tap_far &&
	    ((near = find_index(tables->tap_near)) < 0 || (far = find_index(tables->tap_far)) < 0))
		return -1;
	skeleton->rodata->tap_near = (__u32)near;
	skeleton->rodata->tap_far = (__u32)far;
	if (sff_bpf__load(skeleton)) {
		libbpf_complain_of_load("the programs of the SFF", errno);
		return -1;
	}
	return maps_open(skeleton) || use(tables) ? -1 : 0;
}

/* Ask the kernel whether it accepts the programs. Returns the exit status. */
static int probe(void)
{
	skeleton = sff_bpf__open_and_load();
	if (!skeleton)
		libbpf_complain_of_load("the programs of the SFF", errno);
	return skeleton ? 0 : 1;
}

/* Write the counters to the stats file, and if `print`, to stdout as well. */
static void report_counters(bool print)
{
	FILE *out = stats_begin();

	fprintf(out, "\"loads\": %lu, \"refused\": ", loads);
	json_string(out, refused);
	fputs(", ", out);
	attach_report(out);
	fputs(", ", out);
	maps_report(skeleton, out);
	stats_end(print);
}

/* Read the tables again, and use them, or note why they are refused. */
static void reload(void)
{
	struct tables tables;

	*refused = '\0';
	if (tables_read(options.tables, room, &tables) || use(&tables))
		snprintf(refused, sizeof(refused), "%s", last_complaint());
	loads++;
	tables_free(&tables);
	report_counters(false);
}

/* Forward until SIGTERM or SIGINT, and do what signals ask for. */
static void serve(const sigset_t *signals)
{
	bool changed = false; /* the tables have changed, and the previous ones are still there */

	puts("{\"event\": \"ready\"}");
	fflush(stdout);
	report_counters(false);
	for (;;) {
		int taken = signals_next(signals, changed ? ON_THE_WAY_MS : 0);

		changed = taken == SIGHUP || (changed && taken != 0);
		if (taken == 0) /* ON_THE_WAY_MS are over */
			maps_forget_previous(skeleton);
		else if (taken == SIGHUP)
			reload();
		else
			report_counters(true);
		if (taken == SIGTERM || taken == SIGINT)
			return;
	}
}

int main(int argc, char **argv)
{
	struct tables tables;
	sigset_t signals;
	int error;

	options_parse(argc, argv, documentation, NULL, descriptions, NULL);
	libbpf_log_keep();
	if (options.probe)
		return probe();
	signals_block(&signals, SIGHUP);
	if (stats_open(options.stats))
		return 1;
	error = tables_read(options.tables, UINT_MAX, &tables) || (!options.check && load(&tables));
	tables_free(&tables);
	if (error)
		return stats_failed(true);
	if (!options.check) {
		serve(&signals);
		attach_only(NULL, 0);
	}
	return 0;
}
