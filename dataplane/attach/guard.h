/* SPDX-License-Identifier: Apache-2.0 */
/* The guard: a process that cleans up after the one that started it, however that ends. */
#pragma once

/* Start the guard, before anything is attached. It calls `clean_up` when this process has ended, or
 * calls guard_stop(). It keeps no descriptor but `keep_fd`. Returns 0, or -1 after complain(). */
int guard_start(int keep_fd, void (*clean_up)(void));

/* Have the guard clean up, and wait until it has ended. Harmless without a guard. */
void guard_stop(void);
