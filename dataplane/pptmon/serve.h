/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of pptmon, which prints samples. */
#pragma once

#include <signal.h>

#include "../common/interface.h"

/* Why the loop ended. */
enum outcome {
	OUTCOME_ASKED, /* a signal */
	OUTCOME_UNHEARD, /* nobody reads stdout any more */
	OUTCOME_FAILED, /* after complain() */
};

/* Open what the loop waits for. `signals` must be blocked already. The loop ends when one of the
 * interfaces disappears. Returns 0, or -1 after complain(). */
int serve_open(const sigset_t *signals, const struct interface *ingress,
	       const struct interface *egress);

/* Print samples, and counters when asked, until there is a reason to end. */
enum outcome serve(void);

/* Print the samples that are still in the ring. Gives up when the reader of stdout takes nothing
 * for so long. */
void serve_rest(int timeout_ms);

/* Close what serve_open() has opened, as far as it came. */
void serve_close(void);
