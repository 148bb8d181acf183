/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks of an interface to which BPF programs are attached. */
#pragma once

enum hook {
	HOOK_AUTO, /* the best that the kernel has */
	HOOK_TCX, /* traffic control, by links (Linux 6.6) */
	HOOK_CLSACT, /* traffic control, by filters */
	HOOK_XDP,
};

/* By enum hook; NULL ends each. */
extern const char *const hook_names[];
extern const char *const tc_hook_names[]; /* without XDP */

/* Of traffic control. */
enum direction {
	AT_INGRESS,
	AT_EGRESS,
};
