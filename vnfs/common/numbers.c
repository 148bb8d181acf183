// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "numbers.h"

int parse_integer(const char *text, long least, long most, long *number)
{
	if (!*text || text[strspn(text, "0123456789")])
		return -1;
	errno = 0;
	*number = strtol(text, NULL, 10);
	return errno || *number < least || *number > most ? -1 : 0;
}

int parse_decimal(const char *text, double least, double most, double *number)
{
	char *end;

	if (!strpbrk(text, "0123456789") || text[strspn(text, "0123456789.e+-")])
		return -1;
	*number = strtod(text, &end);
	return *end || *number < least || *number > most ? -1 : 0;
}
