/* SPDX-License-Identifier: Apache-2.0 */
/* Divides frames among threads, so that all frames of a flow come to one. */
#pragma once

#include <rte_mbuf.h>

/* Return the number of the thread, out of so many, for a frame's flow. Frames that belong to no
 * flow are for the first one. */
unsigned int distributor_thread(struct rte_mbuf *frame, unsigned int threads);
