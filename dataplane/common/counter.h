/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdatomic.h>

/* Add to an _Atomic number that others read, and only this thread writes: a load and a store, which are
 * cheaper than a locked addition. */
#define counter_add(counter, amount)                                                               \
	atomic_store_explicit(counter,                                                             \
			      atomic_load_explicit(counter, memory_order_relaxed) + (amount),      \
			      memory_order_relaxed)
