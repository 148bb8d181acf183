/* SPDX-License-Identifier: Apache-2.0 */
/* Decimal numbers on a command line. The number is the whole text: strtol() and strtod() accept
 * blanks, signs, hexadecimal and nan too. 0, or -1 when it is none or out of range. */
#pragma once

int parse_integer(const char *text, long least, long most, long *number);
int parse_decimal(const char *text, double least, double most, double *number);
