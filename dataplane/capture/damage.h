/* SPDX-License-Identifier: Apache-2.0 */
/* Complaints about captures that cannot be read any further. */
#pragma once

#include "capture.h"

/* Complain about the place that was reached. Returns CAPTURE_DAMAGED, for the caller to return. */
enum capture_status capture_damaged(const struct capture *capture, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Complain about an input that ends within a frame (CAPTURE_TRUNCATED). */
void capture_cut_off(const struct capture *capture);

/* Return CAPTURE_FRAME if the link type of a frame can be read; otherwise complain and return
 * CAPTURE_DAMAGED. */
enum capture_status capture_check_link(const struct capture *capture, const struct frame *frame);
