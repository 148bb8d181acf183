/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a monitored switch. It is a folder of a BPF file system with the programs and
 * maps in use (`current`), those that a reset makes (`next`) and the ports. Functions return 0,
 * or -1 after complain(). */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "program.h"

#define LEAST_INTERVAL_MS 10 /* the clock of the programs is no finer than that */
#define MOST_INTERVAL_MS (24L * 3600 * 1000)

struct state {
	const char *folder;
	char current[PATH_MAX], next[PATH_MAX], ports[PATH_MAX];
	struct program program; /* only if `is_open` */
	bool is_open;
	ino_t opened; /* inode of `current`, which is another folder after a reset */
	int locked; /* descriptor of the lock; -1: none */
};

/* Set the paths of the state. Refuses a folder that is in no BPF file system. */
int state_init(struct state *state, const char *folder);

/* Lock the state: one process has the lock at a time. Makes the folder, which state_remove()
 * removes. The lock ends with the process. Waits at most so long for others; negative: for ever. */
int state_lock(struct state *state, int wait_ms);
void state_unlock(struct state *state);

/* Does the state say that monitoring is on, whichever process began it? */
bool state_is_on(const struct state *state);

/* Is the open state still the one in use? A reset, or off and on, by another process replaces
 * it. */
bool state_is_current(const struct state *state);

/* Open the state that is there, if it is not open yet, and undo a reset during which a process
 * was killed. The caller has the lock. */
int state_open(struct state *state);
void state_close(struct state *state);

/* Begin to monitor: make programs and an empty table, without ports. The caller has the lock,
 * and has found that monitoring is off. If this fails, the caller calls state_remove(). */
int state_begin(struct state *state, const struct settings *settings);

/* Make programs and an empty table that replace those of the open state. Ports and notifications
 * stay. */
int state_reset(struct state *state, const struct settings *settings);

/* Stop monitoring, and remove everything. The caller has the lock. */
void state_remove(struct state *state);

/* Make the keys of the hash from a secret. */
void state_set_secret(struct sdnmon_config *config, __u64 secret);

/* Draw a secret that nobody knows. */
int state_draw_secret(__u64 *secret);
