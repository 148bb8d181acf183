/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processes of this tool, in this network namespace, are alive.
 *
 * Each holds a slot: an abstract Unix socket, whose name belongs to the network namespace like the
 * interfaces, is bound by one process at a time, and is free again when that process and its guard
 * have ended in any way (unix(7)).
 */
#pragma once

#include <stdbool.h>

#define OWNER_SLOTS 256

/* Take a free slot for as long as this process, or a child of it, has the descriptor. Returns
 * its number, or -1 if none is free. */
int owner_take_slot(int *descriptor);

/* Is the process of a slot dead? */
bool owner_is_dead(int slot);

/* Take the lock: only one process at a time changes filters. Returns a descriptor for
 * owner_unlock(), or -1 if another process has kept the lock for seconds. */
int owner_lock(void);
void owner_unlock(int lock);
