// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "xdp.h"

const char *xdp_attach_error(int error)
{
	switch (error) {
	case EOPNOTSUPP:
		return "its driver has no native XDP";
	case ERANGE:
		return "its MTU, or its peer's, is too large for native XDP";
	case EBUSY:
	case EEXIST:
		return "another XDP program is attached";
	default:
		return strerror(error);
	}
}
