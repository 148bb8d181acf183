// SPDX-License-Identifier: Apache-2.0
/* Names of the reasons why records were lost. */
#include "sink.h"

const char *const loss_names[LOSSES] = {
	[LOSS_RING_FULL] = "ring_full",
	[LOSS_QUEUE_FULL] = "queue_full",
	[LOSS_NOT_DELIVERED] = "not_delivered",
	[LOSS_UNCONFIRMED] = "unconfirmed",
	[LOSS_WRITE] = "write",
};
