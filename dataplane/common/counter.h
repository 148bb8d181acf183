/* SPDX-License-Identifier: Apache-2.0 */
/* A counter that one thread writes and others read. */
#pragma once

#include <stdatomic.h>

/* Add to an _Atomic number that others read, and only this thread writes. A load and a store are
 * enough for that, and cheaper than a locked addition. */
#define counter_add(counter, amount)                                                               \
	atomic_store_explicit(counter,                                                             \
			      atomic_load_explicit(counter, memory_order_relaxed) + (amount),      \
			      memory_order_relaxed)
