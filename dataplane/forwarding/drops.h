/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the reasons for which frames are dropped, as reports have them. */
#pragma once

#include "forwarder.h"

static const char *const fwd_drop_names[FWD_VERDICTS] = {
	[FWD_TRUNCATED] = "truncated", [FWD_ENCAPSULATION] = "encapsulation",
	[FWD_VERSION] = "version",     [FWD_MD_TYPE] = "md_type",
	[FWD_LENGTH] = "length",       [FWD_OAM] = "oam",
	[FWD_SI_ZERO] = "si_zero",     [FWD_SI_EXHAUSTED] = "si_exhausted",
	[FWD_OVERSIZE] = "oversize",   [FWD_RING_FULL] = "ring_full",
	[FWD_TX_FAILED] = "tx_failed",
};
