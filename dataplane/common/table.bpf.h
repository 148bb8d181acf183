/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

/* Define a map of the type `kind`, with keys of the type `from` and values of the type `to`. The
 * loader may still change the number of its entries. */
#define TABLE(name, kind, entries, from, to, flags)                                                \
	struct {                                                                                   \
		__uint(type, kind);                                                                \
		__uint(max_entries, entries);                                                      \
		__uint(map_flags, flags);                                                          \
		__type(key, from);                                                                 \
		__type(value, to);                                                                 \
	} name SEC(".maps")
