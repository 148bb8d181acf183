// SPDX-License-Identifier: Apache-2.0
#include <stddef.h>

#include "names.h"

const char *const mode_names[] = {
	[PPT_MODE_SOURCE] = "source",
	[PPT_MODE_TRANSIT] = "transit",
	[PPT_MODE_SINK] = "sink",
	[PPT_MODE_SOURCE_SINK] = "source-sink",
	NULL,
};

const char *const format_names[] = {
	[PPT_FORMAT_PAPER] = "paper",
	[PPT_FORMAT_RFC] = "rfc",
	NULL,
};

const char *const carrier_names[] = {
	[PPT_CARRIER_AUTO] = "auto",
	[PPT_CARRIER_L4] = "l4",
	[PPT_CARRIER_NSH] = "nsh",
	NULL,
};

const char *const metric_names[] = {
	[PPT_METRIC_TIME] = "time",
	[PPT_METRIC_BACKLOG] = "backlog",
	[PPT_METRIC_CPU] = "cpu",
	[PPT_METRIC_DELAY] = "delay",
	NULL,
};
