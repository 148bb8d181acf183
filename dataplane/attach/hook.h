/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks of an interface to which BPF programs are attached. */
#pragma once

enum hook {
	HOOK_AUTO, /* the best one that the kernel has */
	HOOK_TCX, /* traffic control, by links (Linux 6.6) */
	HOOK_CLSACT, /* traffic control, by filters */
	HOOK_XDP,
};

/* Names by enum hook. NULL ends each list. */
extern const char *const hook_names[];
extern const char *const tc_hook_names[]; /* without XDP */

/* Side of an interface at which a program of traffic control works. */
enum direction {
	AT_INGRESS,
	AT_EGRESS,
};
