// SPDX-License-Identifier: Apache-2.0
/* sfc-sdnmon: switches monitoring at the ports of a switch on and off, changes it, and reads it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../common/libbpf_log.h"
#include "../../common/options.h"
#include "../../common/report.h"
#include "../fields.h"
#include "../ports.h"
#include "../table.h"
#include "show.h"

const char tool_name[] = "sfc-sdnmon";

#define OUTPUT_BYTES (1 << 20)

static const char documentation[] =
	"Counts the packets that arrive at the ports of a switch, by flow (SDN-Mon).\v"
	"Commands:\n"
	"  on                 begin: new programs, an empty table (needs --fields)\n"
	"  reset              the same for a switch that is monitored, at the same ports\n"
	"  off                end, and remove everything\n"
	"  attach PORT...     count at these interfaces, too\n"
	"  detach PORT...     and no longer at these\n"
	"  set                change --ratio, --query-interval-ms, --limit, --notify\n"
	"  add FLOW...        monitor flows, whatever sampling says\n"
	"  remove FLOW...     and these no longer\n"
	"  prune              remove entries that are sampled no longer\n"
	"  status             print the settings and how many packets there were\n"
	"  entries            print the table\n"
	"  events             print notifications that came since the last time\n"
	"A FLOW is FIELD=VALUE,... with the fields of the table.";

static struct {
	const char *state, *fields, *key;
	int mode, attach;
	double ratio;
	long slots, query_interval_ms, capacity, limit, notify, benchmark;
	bool wait;
} options = {
	.ratio = 1,
	.slots = 5,
	.query_interval_ms = 10000,
	.capacity = 131072,
};

/* Places in `descriptions`. */
enum option_place {
	STATE,
	FIELDS,
	MODE,
	RATIO,
	KEY,
	SLOTS,
	QUERY_INTERVAL,
	CAPACITY,
	LIMIT,
	NOTIFY,
	ATTACH,
	WAIT,
	BENCHMARK,
};

static struct tool_option descriptions[] = {
	[STATE] = { "state", 's', "DIR", "Folder of this switch in a BPF file system (required)",
		    take_text, &options.state, .required = true },
	[FIELDS] = { "fields", 'f', "FIELD[/MASK],...", "Monitoring match fields", take_text,
		     &options.fields },
	[MODE] = { "mode", 'm', "MODE", "Sampling: hash (default), bloom", take_word, &options.mode,
		   .words = mode_names },
	[RATIO] = { "ratio", 'r', "RATIO", "Share of the flows that are monitored (default: 1)",
		    take_decimal, &options.ratio, .most = 1 },
	[KEY] = { "key", 'k', "HEX",
		  "Secret of the hash, 16 digits: switches with the same one sample the same flows "
		  "(default: random)",
		  take_text, &options.key },
	[SLOTS] = { "slots", 'b', "COUNT", "Size of counter buffers (default: 5)", take_integer,
		    &options.slots, .least = 1, .most = SDNMON_SLOTS },
	[QUERY_INTERVAL] = { "query-interval-ms", 'q', "MS",
			     "Time that the counter buffers cover (default: 10000)", take_integer,
			     &options.query_interval_ms, .least = LEAST_INTERVAL_MS,
			     .most = MOST_INTERVAL_MS },
	[CAPACITY] = { "capacity", 'c', "COUNT",
		       "Entries for which memory is taken (default: 131072)", take_integer,
		       &options.capacity, .least = 1, .most = SDNMON_ENTRIES },
	[LIMIT] = { "limit", 'l', "COUNT", "Entries, at most (default: the capacity)", take_integer,
		    &options.limit, .least = 1, .most = SDNMON_ENTRIES },
	[NOTIFY] = { "notify", 'n', "COUNT",
		     "Notify when there are more entries (default: 0, never)", take_integer,
		     &options.notify, .least = 0, .most = SDNMON_ENTRIES },
	[ATTACH] = { "attach", 'a', "HOOK", "auto (default), tcx, clsact or xdp", take_word,
		     &options.attach, .words = hook_names },
	[WAIT] = { "wait", 'w', NULL, "events: wait for more until SIGTERM", take_flag,
		   &options.wait },
	[BENCHMARK] = { "benchmark", 'B', "FLOWS",
			"Load a program that varies packets to so many flows as well", take_integer,
			&options.benchmark, .least = 1, .most = SDNMON_ENTRIES },
	{ 0 },
};

static struct {
	char **words;
	unsigned int count;
} arguments;

static struct state state;

/* --- the state --- */

/* Lock and open the state of a switch that is monitored. Returns 0, or -1 after complain(). It is
 * looked for before it is locked, because locking makes its folder. */
static int open_state(void)
{
	if (!state_is_on(&state)) {
		complain("%s: monitoring is off", options.state);
		return -1;
	}
	return state_lock(&state, -1) || state_open(&state) ? -1 : 0;
}

/* --- on, reset, off --- */

/* Set the keys of the hash from --key, or from a secret that is drawn. */
static int set_secret(struct sdnmon_config *config)
{
	__u64 secret;

	if (!options.key) {
		if (state_draw_secret(&secret))
			return -1;
	} else {
		secret = strtoull(options.key, NULL, 16);
		if (strlen(options.key) != 16 ||
		    strspn(options.key, "0123456789abcdefABCDEF") != 16) {
			complain("--key: 16 hexadecimal digits");
			return -1;
		}
	}
	state_set_secret(config, secret);
	return 0;
}

/* Return the option --ratio in units of 2^-32, rounded. */
static __u64 ratio_of_2_32(void)
{
	return (__u64)(options.ratio * (double)SDNMON_RATIO_ONE + 0.5);
}

/* Return the length of a slot. */
static __u64 interval_ns(long slots)
{
	return (__u64)options.query_interval_ms * 1000000ULL / (__u64)slots;
}

static int check_interval(long slots)
{
	if (options.query_interval_ms >= LEAST_INTERVAL_MS * slots)
		return 0;
	complain("--query-interval-ms: at least %d for each of the %ld slots", LEAST_INTERVAL_MS,
		 slots);
	return -1;
}

static int check_limit(long capacity)
{
	if (options.limit <= capacity)
		return 0;
	complain("--limit: at most the capacity, which is %ld", capacity);
	return -1;
}

/* Read the settings from the options. Without the option --key, the keys of the table `before`
 * stay; NULL: there is no such table, and a secret is drawn. Returns 0, or -1 after complain(). */
static int read_settings(struct settings *settings, const struct sdnmon_config *before)
{
	*settings = (struct settings){
		.config = {
			.slots = (__u32)options.slots,
			.mode = (__u32)options.mode,
			.capacity = (__u32)options.capacity,
			.varied_flows = (__u32)options.benchmark,
		},
		.ratio = ratio_of_2_32(),
		.limit = (__u64)(options.limit ? options.limit : options.capacity),
		.interval_ns = interval_ns(options.slots),
		.notify = (__u64)options.notify,
		.events = -1,
		.forwarders = -1,
	};
	if (!options.fields) {
		complain("--fields is missing");
		return -1;
	}
	if (before && !options.key)
		memcpy(settings->config.hash_keys, before->hash_keys,
		       sizeof(settings->config.hash_keys));
	else if (set_secret(&settings->config))
		return -1;
	return fields_parse(options.fields, &settings->config) || check_interval(options.slots) ||
			       check_limit(options.capacity)
		       ? -1
		       : 0;
}

/* Attach to the ports that the arguments name. */
static int attach_all(void)
{
	for (unsigned int i = 0; i < arguments.count; i++)
		if (ports_attach(state.ports, arguments.words[i], &state.program,
				 (enum hook)options.attach))
			return -1;
	return 0;
}

/* Begin to monitor. If this fails, nothing of it stays. */
static int switch_on(void)
{
	struct settings settings;

	if (state_lock(&state, -1))
		return -1;
	if (state_is_on(&state)) {
		complain("%s: monitoring is on", options.state);
		return -1;
	}
	if (read_settings(&settings, NULL) || state_begin(&state, &settings) || attach_all()) {
		state_remove(&state);
		return -1;
	}
	return 0;
}

static int reset(void)
{
	struct settings settings;

	return open_state() || read_settings(&settings, state.program.config) ||
			       state_reset(&state, &settings)
		       ? -1
		       : 0;
}

/* End the monitoring. It is no error if it is off already: there is no folder then. */
static int switch_off(void)
{
	if (access(options.state, F_OK) == 0) {
		if (state_lock(&state, -1))
			return -1;
		state_remove(&state);
	}
	return 0;
}

/* --- changes --- */

static int attach(void)
{
	return open_state() || attach_all() ? -1 : 0;
}

static int detach(void)
{
	if (open_state())
		return -1;
	for (unsigned int i = 0; i < arguments.count; i++)
		if (ports_detach(state.ports, arguments.words[i]))
			return -1;
	return 0;
}

/* Change the settings that are given. All are checked before the first one is changed. */
static int set(void)
{
	if (open_state())
		return -1;
	if ((descriptions[QUERY_INTERVAL].seen &&
	     check_interval((long)state.program.config->slots)) ||
	    (descriptions[LIMIT].seen && check_limit((long)state.program.config->capacity)))
		return -1;
	if (descriptions[RATIO].seen)
		__atomic_store_n(&state.program.live->ratio, ratio_of_2_32(), __ATOMIC_RELAXED);
	if (descriptions[LIMIT].seen)
		__atomic_store_n(&state.program.live->limit, (__u64)options.limit,
				 __ATOMIC_RELAXED);
	if (descriptions[QUERY_INTERVAL].seen)
		program_set_interval(&state.program,
				     interval_ns((long)state.program.config->slots));
	return descriptions[NOTIFY].seen ? table_set_notify(&state.program, (__u64)options.notify)
					 : 0;
}

/* Change entries by `change`. All flows are read before the first one is changed. */
static int change_flows(int (*change)(const struct program *, const struct sdnmon_key *,
				      enum sdnmon_answer *))
{
	enum sdnmon_answer answer;
	struct sdnmon_key key;
	unsigned int changed = 0;

	if (open_state())
		return -1;
	for (unsigned int i = 0; i < arguments.count; i++)
		if (fields_parse_flow(arguments.words[i], state.program.config, &key))
			return -1;
	for (unsigned int i = 0; i < arguments.count; i++) {
		fields_parse_flow(arguments.words[i], state.program.config, &key);
		if (change(&state.program, &key, &answer))
			return -1;
		if (answer == SDNMON_NO_ROOM) {
			complain("the monitoring table is full: %llu entries",
				 state.program.live->limit);
			return -1;
		}
		changed += answer == SDNMON_DONE;
	}
	printf("{\"event\": \"changed\", \"flows\": %u, \"entries\": %llu}\n", changed,
	       state.program.live->entries);
	return 0;
}

static int add(void)
{
	return change_flows(table_add);
}

static int remove_flows(void)
{
	return change_flows(table_remove);
}

static int prune(void)
{
	unsigned long removed;

	if (open_state() || table_prune(&state.program, &removed))
		return -1;
	printf("{\"event\": \"changed\", \"flows\": %lu, \"entries\": %llu}\n", removed,
	       state.program.live->entries);
	return 0;
}

/* --- reading --- */

static int status(void)
{
	return open_state() || show_status(&state) ? -1 : 0;
}

static int entries(void)
{
	return open_state() || table_print(&state.program, stdout) ? -1 : 0;
}

static int events(void)
{
	return show_events(&state, options.wait);
}

/* --- commands --- */

static const struct tool_command {
	const char *name;
	int (*run)(void); /* returns 0, or -1 after complain() */
	bool takes_words, needs_words;
} commands[] = {
	{ "on", switch_on, .takes_words = true },
	{ "reset", reset },
	{ "off", switch_off },
	{ "attach", attach, true, true },
	{ "detach", detach, true, true },
	{ "set", set },
	{ "add", add, true, true },
	{ "remove", remove_flows, true, true },
	{ "prune", prune },
	{ "status", status },
	{ "entries", entries },
	{ "events", events },
};

static const struct tool_command *command;

/* Find the command, and judge its words. */
static void check(char **words, unsigned int count)
{
	if (!count)
		refuse("a command is missing");
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (strcmp(commands[i].name, words[0]) == 0)
			command = &commands[i];
	if (!command)
		refuse("'%s' is no command", words[0]);
	arguments.words = words + 1;
	arguments.count = count - 1;
	if (arguments.count && !command->takes_words)
		refuse("%s: '%s' is one word too many", words[0], words[1]);
	if (!arguments.count && command->needs_words)
		refuse("%s: of what?", words[0]);
}

int main(int argc, char **argv)
{
	options_parse(argc, argv, documentation, "COMMAND [WORD...]", descriptions, check);
	setvbuf(stdout, NULL, _IOFBF, OUTPUT_BYTES);
	libbpf_log_keep();
	if (state_init(&state, options.state) || command->run()) {
		fflush(stdout);
		return 1;
	}
	if (fflush(stdout) || ferror(stdout)) {
		complain("cannot write: %s", strerror(errno));
		return 1;
	}
	return 0;
}
