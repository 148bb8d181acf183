/* SPDX-License-Identifier: Apache-2.0 */
/* A process that cleans up after the one that started it, however that ends. */
#pragma once

/* Start it; to be done before anything is attached. Of the descriptors it keeps `keep_fd` alone. 0, or -1
 * after complain(). */
int guard_start(int keep_fd, void (*clean_up)(void));

/* Have it clean up, and wait until it has ended. */
void guard_stop(void);
