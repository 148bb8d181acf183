/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rte_mbuf.h>

/* The thread of a frame's flow, out of so many. Of frames that belong to no flow: the first one. */
unsigned int distributor_thread(struct rte_mbuf *frame, unsigned int threads);
