/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SFCPERF_PPTMON_NUMBERS_H
#define SFCPERF_PPTMON_NUMBERS_H

/* A decimal number that is the whole text: strtol() and strtod() take more (blanks, signs, hex,
 * nan). 0, or -1 when it is none or out of range. */
int parse_integer(const char *text, long least, long most, long *number);
int parse_decimal(const char *text, double least, double most, double *number);

#endif
