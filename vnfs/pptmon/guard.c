// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guard.h"
#include "report.h"

static pid_t guard = -1;
static int life = -1; /* written by nobody; its other end is at its end when we are */

/* Out of the reach of signals to pptmon's terminal and process group, and holding nothing of it that
 * others wait to be closed. */
static void withdraw(int life_of_other, int slot)
{
	unsigned int lower = (unsigned int)(slot < life_of_other ? slot : life_of_other);
	unsigned int upper = (unsigned int)(slot < life_of_other ? life_of_other : slot);
	int nothing = open("/dev/null", O_RDWR);
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	setsid();
	prctl(PR_SET_NAME, "pptmon-guard");
	for (int fd = STDIN_FILENO; nothing >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(nothing, fd);
	if (lower > STDERR_FILENO + 1)
		close_range(STDERR_FILENO + 1, lower - 1, 0);
	if (upper > lower + 1)
		close_range(lower + 1, upper - 1, 0);
	close_range(upper + 1, ~0U, 0);
	if (chdir("/"))
		return;
}

static void watch(const struct clsact_state *state, int life_of_other)
{
	const struct timespec drain = { .tv_nsec = DRAIN_MS * 1000000L };
	char unused;

	while (read(life_of_other, &unused, 1) < 0 && errno == EINTR)
		;
	if (clsact_remove(state, PROGRAM_ENTER))
		nanosleep(&drain, NULL);
	clsact_remove(state, PROGRAM_LEAVE);
	clsact_remove_qdiscs(state);
}

int guard_start(const struct clsact_state *state)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC)) {
		complain("cannot make a pipe: %s", strerror(errno));
		return -1;
	}
	guard = fork();
	if (guard < 0) {
		complain("cannot start the guard: %s", strerror(errno));
		close(ends[0]);
		close(ends[1]);
		return -1;
	}
	if (guard == 0) {
		close(ends[1]);
		withdraw(ends[0], state->slot_fd);
		watch(state, ends[0]);
		_exit(0);
	}
	close(ends[0]);
	life = ends[1];
	return 0;
}

void guard_stop(void)
{
	if (guard < 0)
		return;
	close(life);
	while (waitpid(guard, NULL, 0) < 0 && errno == EINTR)
		;
	guard = -1;
}
