/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SFCPERF_PPTMON_SERVE_H
#define SFCPERF_PPTMON_SERVE_H

#include <signal.h>

#include "interface.h"

/* What a run of the loop ends with. */
enum outcome {
	OUTCOME_ASKED, /* by a signal */
	OUTCOME_UNHEARD, /* nobody reads stdout any more */
	OUTCOME_FAILED, /* after complain() */
};

/* The signals that it takes, which must be blocked already, and the interfaces without which there is
 * nothing to do. 0, or -1 after complain(). */
int serve_open(const sigset_t *signals, const struct interface *ingress,
	       const struct interface *egress);

/* Print samples, and counters when asked, until there is a reason to end. */
enum outcome serve(void);

/* Print the samples that are still in the ring, as long as the reader takes something in so long. */
void serve_rest(int patience_ms);

void serve_close(void);

#endif
