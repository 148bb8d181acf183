// SPDX-License-Identifier: Apache-2.0
/* Locks, opens, makes and removes the state of a monitored switch. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "../common/report.h"
#include "hash.h"
#include "ports.h"
#include "state.h"
#include "table.h"

#define LOCK_PAUSE_MS 5

int state_init(struct state *state, const char *folder)
{
	struct statfs where;
	char path[PATH_MAX], *parent;

	*state = (struct state){ .folder = folder, .locked = -1 };
	if (strlen(folder) > PATH_MAX - 16) { /* room for the names below */
		complain("--state: the path is too long");
		return -1;
	}
	sprintf(state->current, "%s/current", folder);
	sprintf(state->next, "%s/next", folder);
	sprintf(state->ports, "%s/ports", folder);
	/* The folder may not be there yet, but its parent is. */
	strcpy(path, folder);
	parent = dirname(path);
	if (statfs(parent, &where) == 0 && (unsigned int)where.f_type == BPF_FS_MAGIC)
		return 0;
	complain(
		"%s is in no BPF file system: mount one (mount -t bpf bpf DIR) that other commands "
		"see as well; `ip netns exec` hides that of /sys",
		parent);
	return -1;
}

/* --- the lock --- */

/* Is the locked folder still the one that is there? The process that had the lock before may
 * have removed it. */
static bool is_there_still(const struct state *state)
{
	struct stat locked, there;

	return fstat(state->locked, &locked) == 0 && stat(state->folder, &there) == 0 &&
	       locked.st_ino == there.st_ino;
}

/* Lock the folder, waiting at most so long (negative: for ever). Returns 0, or -errno. */
static int take(int fd, int wait_ms)
{
	if (wait_ms < 0)
		return flock(fd, LOCK_EX) ? -errno : 0;
	while (flock(fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK || wait_ms <= 0)
			return -errno;
		usleep(LOCK_PAUSE_MS * 1000);
		wait_ms -= LOCK_PAUSE_MS;
	}
	return 0;
}

int state_lock(struct state *state, int wait_ms)
{
	int error;

	do {
		state_unlock(state);
		if (mkdir(state->folder, 0700) && errno != EEXIST) {
			complain("cannot make %s: %s", state->folder, strerror(errno));
			return -1;
		}
		state->locked = open(state->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (state->locked < 0)
			error = errno == ENOENT ? 0 : -errno; /* removed since mkdir(): again */
		else
			error = take(state->locked, wait_ms);
	} while (!error && (state->locked < 0 || !is_there_still(state)));
	if (!error)
		return 0;
	complain("cannot lock %s: %s", state->folder,
		 error == -EWOULDBLOCK ? "another command takes too long" : strerror(-error));
	state_unlock(state);
	return -1;
}

void state_unlock(struct state *state)
{
	if (state->locked >= 0)
		close(state->locked);
	state->locked = -1;
}

/* --- what is there --- */

bool state_is_on(const struct state *state)
{
	return access(state->current, F_OK) == 0;
}

/* Return the inode of a folder; 0 if it is not there. */
static ino_t number_of(const char *folder)
{
	struct stat found;

	return stat(folder, &found) ? 0 : found.st_ino;
}

bool state_is_current(const struct state *state)
{
	return state->is_open && number_of(state->current) == state->opened;
}

int state_open(struct state *state)
{
	if (!state_is_on(state)) {
		state_close(state);
		complain("%s: monitoring is off", state->folder);
		return -1;
	}
	if (state_is_current(state))
		return 0;
	state_close(state);
	if (program_open(state->current, &state->program))
		return -1;
	state->is_open = true;
	state->opened = number_of(state->current);
	/* A process was killed during a reset: ports may use the programs of `next`. */
	if (access(state->next, F_OK) == 0) {
		if (ports_use(state->ports, &state->program))
			return -1;
		program_unpin(state->next);
	}
	return 0;
}

void state_close(struct state *state)
{
	if (state->is_open)
		program_close(&state->program);
	state->is_open = false;
}

/* --- on, reset, off --- */

/* Let the open state be these new programs, which are `current` already. */
static void use(struct state *state, const struct program *created)
{
	state_close(state);
	state->program = *created;
	state->is_open = true;
	state->opened = number_of(state->current);
}

int state_begin(struct state *state, const struct settings *settings)
{
	struct program created;

	program_unpin(state->next);
	if (program_create(state->next, settings, &created))
		return -1;
	if (table_set_notify(&created, settings->notify)) {
		program_close(&created);
		return -1;
	}
	/* Last, so that `current` is there only when it is complete. */
	if (rename(state->next, state->current)) {
		complain("cannot name %s: %s", state->current, strerror(errno));
		program_close(&created);
		return -1;
	}
	use(state, &created);
	return 0;
}

/* Make a new table in the place of the old one. It is there before the old one goes, and each
 * packet is counted in one of them. */
int state_reset(struct state *state, const struct settings *settings)
{
	struct settings continued = *settings;
	struct program created;
	int error;

	continued.events = state->program.events;
	continued.forwarders = state->program.forwarders;
	if (program_create(state->next, &continued, &created))
		return -1;
	error = table_set_notify(&created, settings->notify);
	if (!error) {
		error = ports_use(state->ports, &created);
		if (!error &&
		    renameat2(AT_FDCWD, state->next, AT_FDCWD, state->current, RENAME_EXCHANGE)) {
			complain("cannot put new programs in place of the old: %s",
				 strerror(errno));
			error = -1;
		}
		if (error)
			ports_use(state->ports, &state->program);
	}
	/* The old programs, or after an error the new ones. */
	program_unpin(state->next);
	if (error)
		program_close(&created);
	else
		use(state, &created);
	return error;
}

void state_remove(struct state *state)
{
	state_close(state);
	ports_detach_all(state->ports);
	program_unpin(state->next);
	program_unpin(state->current);
	rmdir(state->folder);
}

/* --- the secret of the hash --- */

void state_set_secret(struct sdnmon_config *config, __u64 secret)
{
	for (int i = 0; i <= SDNMON_KEY_WORDS; i++)
		config->hash_keys[i] = sdnmon_next_key(&secret);
}

int state_draw_secret(__u64 *secret)
{
	if (getrandom(secret, sizeof(*secret), 0) == sizeof(*secret))
		return 0;
	complain("no random number: %s", strerror(errno));
	return -1;
}
