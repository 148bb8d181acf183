/* SPDX-License-Identifier: Apache-2.0 */
/* What pptmon needs of the kernel, and what a kernel lacks. */
#pragma once

#include "options.h"

#define MAX_LACKS 12

struct lacks {
	int count;
	char what[MAX_LACKS][640]; /* each says what to do about it */
};

/* Add something that is lacking. */
void lack(struct lacks *lacks, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Find out what is lacking, and which hook `attach` means here. Returns HOOK_AUTO if none works, or
 * if that could not be tried. */
enum hook kernel_check(enum hook attach, struct lacks *lacks);
