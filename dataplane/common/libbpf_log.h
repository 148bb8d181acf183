/* SPDX-License-Identifier: Apache-2.0 */
/* Warnings of libbpf, kept instead of printed. */
#pragma once

/* Keep warnings from now on, and forget earlier ones. */
void libbpf_log_keep(void);

/* Return the first warning, or the last lines of a verifier's log; "" if there was none. */
const char *libbpf_log_reason(void);

/* Complain that the kernel refuses programs (`what`), with the kept reason and `error`, an
 * errno. */
void libbpf_complain_of_load(const char *what, int error);
