/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of the sketches. */
#pragma once

struct sizes {
	long cms_rows, cms_columns;
	long bloom_bits, bloom_hashes;
	long iblt_cells, iblt_hashes;
};

#define DEFAULT_SIZES                                                                              \
	{                                                                                          \
		.cms_rows = 5, .cms_columns = 5437, .bloom_bits = 16384, .bloom_hashes = 4,        \
		.iblt_cells = 300, .iblt_hashes = 3                                                \
	}
