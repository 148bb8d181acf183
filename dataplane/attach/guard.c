// SPDX-License-Identifier: Apache-2.0
/* Starts and ends the guard, a process that waits for the end of its parent and then cleans up. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/report.h"
#include "guard.h"

static pid_t guard = -1;
static int life = -1; /* never written to: the guard reads the end of this pipe when we end */

/* Put the guard out of reach of signals to the terminal and to the process group. Close all its
 * descriptors but two, because somebody may wait until they are closed everywhere. */
static void become_daemon(int life_of_other, int keep_fd)
{
	unsigned int lower = (unsigned int)(keep_fd < life_of_other ? keep_fd : life_of_other);
	unsigned int upper = (unsigned int)(keep_fd < life_of_other ? life_of_other : keep_fd);
	int nothing = open("/dev/null", O_RDWR);
	char name[16];
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	setsid();
	snprintf(name, sizeof(name), "%s-guard", tool_name);
	prctl(PR_SET_NAME, name);
	for (int fd = STDIN_FILENO; nothing >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(nothing, fd);
	if (lower > STDERR_FILENO + 1)
		close_range(STDERR_FILENO + 1, lower - 1, 0);
	if (upper > lower + 1)
		close_range(lower + 1, upper - 1, 0);
	close_range(upper + 1, ~0U, 0);
	/* No file system is to stay in use; if this fails, one does. */
	if (chdir("/"))
		return;
}

int guard_start(int keep_fd, void (*clean_up)(void))
{
	char unused;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC)) {
		complain("cannot create a pipe: %s", strerror(errno));
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
		close(ends[1]); /* the parent alone holds it, until it ends */
		become_daemon(ends[0], keep_fd);
		while (read(ends[0], &unused, 1) < 0 && errno == EINTR)
			;
		clean_up();
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
