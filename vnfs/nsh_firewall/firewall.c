// SPDX-License-Identifier: Apache-2.0
/* sfc-firewall: an NSH service function that drops packets by rules, which others set. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../dataplane/common/libbpf_log.h"
#include "../../dataplane/common/options.h"
#include "../../dataplane/common/percpu.h"
#include "../../dataplane/common/report.h"
#include "../../dataplane/forwarding/drops.h"
#include "rules.h"
#include "table.h"

#define MOST_RULES 1000000

const char tool_name[] = "sfc-firewall";

static const char documentation[] =
	"NSH service function: drop packets by rules, decrement the service index of others, and "
	"return them (RFC 8300).\v"
	"The program and its rules belong to the interface: no process stays. COMMAND is\n"
	"  attach    start, without rules\n"
	"  change    take rules from stdin, one per line: `flow MS PROTOCOL ADDRESS PORT ADDRESS "
	"PORT' or `source MS ADDRESS', with the milliseconds they last (`-' removes the rule); "
	"`lease MS' renews the lease. An empty line ends a change, which is answered with `done' "
	"or `failed: REASON'\n"
	"  list      print the rules, as such lines\n"
	"  counters  print the counters, as JSON\n"
	"  detach    end, and forget the rules\n";

static const struct options {
	const char *interface;
	long max_rules;
	bool fail_closed;
} defaults = { .max_rules = 100000 };

static struct options options;
static struct interface interface;

static struct tool_option descriptions[] = {
	{ "interface", 'i', "NAME", "interface whose frames are served", take_interface,
	  &options.interface, .required = true },
	{ "max-rules", 'm', "NUMBER", "attach: the most rules of each kind (default 100000)",
	  take_integer, &options.max_rules, .least = 1, .most = MOST_RULES },
	{ "fail-closed", 0, NULL, "attach: drop all packets while there is no lease", take_flag,
	  &options.fail_closed },
	{ 0 },
};

/* The commands. Each returns 0, or -1 after complain(). */

static int attach(void)
{
	return table_attach(&interface, (unsigned int)options.max_rules, options.fail_closed);
}

static int detach(void)
{
	return table_detach(&interface);
}

/* Take one change from stdin. The table is found anew for each change, because the interface, or
 * its program, may be another one by now. Returns 0, or -1 after complain(). */
static int change_once(void)
{
	struct table table;
	bool found = find_interface(options.interface, &interface) == 0 &&
		     table_find(&interface, &table) == 0;
	int status = rules_change(found ? &table : NULL, stdin);

	if (found)
		table_close(&table);
	return status;
}

/* Take changes from stdin until it ends, and answer each. Returns 0, or -1 if one has failed. */
static int change(void)
{
	int status = 0;
	int first;

	while ((first = getchar()) != EOF) {
		ungetc(first, stdin);
		if (change_once()) {
			status = -1;
			printf("failed: %s\n", last_complaint());
		} else {
			puts("done");
		}
		fflush(stdout);
	}
	if (ferror(stdin)) {
		complain("cannot read stdin: %s", strerror(errno));
		status = -1;
	}
	return status;
}

static int list(void)
{
	struct table table;

	return table_find(&interface, &table) || rules_list(&table, stdout) ? -1 : 0;
}

static void print_counters(const struct fw_counters *totals)
{
	static const char *const names[FW_CAUSES] = {
		[FW_SOURCE_RULE] = "by_source_rule",
		[FW_FLOW_RULE] = "by_flow_rule",
		[FW_UNPARSED] = "unparsed",
		[FW_FAILED] = "while_failed",
	};
	__u64 dropped = 0;

	for (int i = FW_NONE + 1; i < FW_CAUSES; i++)
		dropped += totals->causes[i];
	for (int i = FWD_DROP_FIRST; i < FWD_VERDICTS; i++)
		dropped += totals->verdicts[i];
	printf("{\"received\": %llu, \"forwarded\": %llu, \"dropped\": %llu, \"passed\": %llu",
	       totals->causes[FW_NONE] + dropped, totals->causes[FW_NONE], dropped,
	       totals->verdicts[FWD_PASSED]);
	for (int i = FW_NONE + 1; i < FW_CAUSES; i++)
		printf(", \"dropped_%s\": %llu", names[i], totals->causes[i]);
	/* The other reasons are those of a packet socket. */
	for (int i = FWD_DROP_FIRST; i <= FWD_SI_EXHAUSTED; i++)
		printf(", \"dropped_%s\": %llu", fwd_drop_names[i], totals->verdicts[i]);
	puts("}");
}

static int counters(void)
{
	struct fw_counters totals;
	struct table table;
	int error;

	if (table_find(&interface, &table))
		return -1;
	error = percpu_sum(table.maps[TABLE_COUNTERS], 0, &totals, sizeof(totals));
	if (error) {
		complain("cannot read the counters: %s", strerror(-error));
		return -1;
	}
	print_counters(&totals);
	return 0;
}

static const char *const command_names[] = {
	"attach", "change", "list", "counters", "detach", NULL
};
static int (*const commands[])(void) = { attach, change, list, counters, detach };
static int chosen;

/* Take the COMMAND. */
static void check_options(char **words, unsigned int count)
{
	if (count != 1)
		refuse("one COMMAND is needed: attach, change, list, counters or detach");
	chosen = find_word(command_names, words[0], strlen(words[0]));
	if (chosen < 0)
		refuse("'%s' is not attach, change, list, counters or detach", words[0]);
}

int main(int argc, char **argv)
{
	options = defaults;
	options_parse(argc, argv, documentation, "COMMAND", descriptions, check_options);
	libbpf_log_keep();
	/* `change` looks for the interface at each change. */
	if (commands[chosen] != change && find_interface(options.interface, &interface))
		return 1;
	return commands[chosen]() ? 1 : 0;
}
