// SPDX-License-Identifier: Apache-2.0
/* Keeps what libbpf warns about, for the complaint that a load has failed. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "libbpf_log.h"
#include "report.h"

#define LOG_LINES 6 /* lines kept of a verifier's log: the reason is at its end */

static char reason[768];

/* Return the last lines of the verifier's log, which libbpf puts between two lines of its own; the
 * whole text if it has no log. Cuts off what follows the log. */
static const char *last_lines(char *text)
{
	char *end = strstr(text, "-- END PROG LOAD LOG");
	int lines = 0;

	if (!end)
		return text;
	while (end > text && end[-1] != '\n')
		end--;
	*end = '\0';
	/* There is one line break more than lines: that in front of the first one. */
	while (end > text && lines <= LOG_LINES)
		lines += *--end == '\n';
	return end == text ? end : end + 1;
}

/* Keep a warning of libbpf, and ignore everything else. */
static int on_print(enum libbpf_print_level level, const char *format, va_list arguments)
{
	char *text;

	if (level != LIBBPF_WARN || vasprintf(&text, format, arguments) < 0)
		return 0;
	/* Keep the first warning, until a verifier's log comes: what follows either says less. */
	if (strstr(text, "PROG LOAD LOG") || !*reason)
		snprintf(reason, sizeof(reason), "%s", last_lines(text));
	free(text);
	return 0;
}

void libbpf_log_keep(void)
{
	reason[0] = '\0';
	libbpf_set_print(on_print);
}

const char *libbpf_log_reason(void)
{
	size_t bytes = strlen(reason);

	if (bytes && reason[bytes - 1] == '\n')
		reason[bytes - 1] = '\0';
	return reason;
}

void libbpf_complain_of_load(const char *what, int error)
{
	if (error == EPERM)
		complain("the kernel refuses %s (%s): this requires root, or CAP_BPF, CAP_PERFMON "
			 "and "
			 "CAP_NET_ADMIN",
			 what, strerror(error));
	else if (*reason)
		complain("the kernel refuses %s (%s):\n%s", what, strerror(error),
			 libbpf_log_reason());
	else
		complain("the kernel refuses %s: %s", what, strerror(error));
}
