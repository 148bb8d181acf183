/* SPDX-License-Identifier: Apache-2.0 */
/* Captures that cannot be read any further. */
#pragma once

#include "capture.h"

/* Complain of the place that was reached; gives CAPTURE_DAMAGED. */
enum capture_status capture_damaged(const struct capture *capture, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Complain of an input that is CAPTURE_TRUNCATED. */
void capture_cut_off(const struct capture *capture);

/* CAPTURE_FRAME, or complain of a link type that cannot be read. */
enum capture_status capture_check_link(const struct capture *capture, const struct frame *frame);
