/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processes of this tool, in this network namespace, are alive.
 *
 * Each holds a slot, which is the name of an abstract Unix socket (unix(7)). Such names belong to
 * the network namespace, as interfaces do. Only one process at a time can bind a name. It is free
 * again when that process and its guard have ended, in whatever way.
 */
#pragma once

#include <stdbool.h>

#define OWNER_SLOTS 256

/* Take a free slot for as long as this process, or a child of it, has the descriptor. Returns
 * its number, or -1 if none is free. */
int owner_take_slot(int *descriptor);

/* Have the process of this slot and its guard ended? */
bool owner_is_dead(int slot);

/* Take the lock: only one process at a time changes filters. Returns a descriptor for
 * owner_unlock(), or -1 if another process has kept the lock for seconds. */
int owner_lock(void);
void owner_unlock(int lock);
