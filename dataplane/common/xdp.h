/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Why a program cannot be attached to an interface in native mode. `error` is an errno. */
const char *xdp_attach_error(int error);
