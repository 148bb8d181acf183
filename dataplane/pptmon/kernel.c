// SPDX-License-Identifier: Apache-2.0
/* Finds out what pptmon lacks on this kernel. */
#include <errno.h>
#include <gelf.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "../attach/link.h"
#include "../attach/owned_filters.h"
#include "kernel.h"
#include "program.h"

#define OLDEST "Linux 6.1"
#define MAX_HELPERS 256
#define NAME(helper) [BPF_FUNC_##helper] = "bpf_" #helper

static const char *const helper_names[MAX_HELPERS] = { __BPF_FUNC_MAPPER(NAME) };

void lack(struct lacks *lacks, const char *format, ...)
{
	va_list arguments;

	if (lacks->count == MAX_LACKS) /* further ones are left out */
		return;
	va_start(arguments, format);
	vsnprintf(lacks->what[lacks->count++], sizeof(lacks->what[0]), format, arguments);
	va_end(arguments);
}

static bool has(const struct __user_cap_data_struct *data, int capability)
{
	return data[capability / 32].effective & 1U << capability % 32;
}

/* Check the permissions. Returns 0, or -1 if some are missing, so that nothing else can be tried.
 * If they cannot be read, trying shows it. */
static int check_capabilities(struct lacks *lacks)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };
	char missing[64] = "";
	bool all;

	if (syscall(SYS_capget, &header, data))
		return 0;
	all = has(data, CAP_SYS_ADMIN);
	if (!all && !has(data, CAP_BPF))
		strcat(missing, " CAP_BPF");
	if (!all && !has(data, CAP_PERFMON))
		strcat(missing, " CAP_PERFMON");
	if (!has(data, CAP_NET_ADMIN))
		strcat(missing, " CAP_NET_ADMIN");
	if (!*missing)
		return 0;
	lack(lacks,
	     "the permission:%s; run it as root, or "
	     "`setcap cap_bpf,cap_perfmon,cap_net_admin+ep` its file",
	     missing);
	return -1;
}

/* Try to load a program. Returns 0, or -1 if nothing else can be tried. */
static int check_bpf(struct lacks *lacks)
{
	int fd = load_probe();

	if (fd >= 0)
		close(fd);
	else if (fd == -EPERM)
		lack(lacks, "the permission to load BPF programs, although its capabilities would "
			    "do: a container's seccomp or user namespace forbids it");
	else
		lack(lacks,
		     "BPF programs of traffic control (%s); its kernel needs "
		     "CONFIG_BPF_SYSCALL and CONFIG_NET_CLS_ACT",
		     strerror(-fd));
	return fd < 0 ? -1 : 0;
}

static void check_btf(struct lacks *lacks)
{
	struct btf *btf = btf__load_vmlinux_btf();

	if (!btf)
		lack(lacks, "the kernel's own types (/sys/kernel/btf/vmlinux); its kernel needs "
			    "CONFIG_DEBUG_INFO_BTF, and /sys must be there");
	btf__free(btf);
}

/* Does the kernel's lockdown forbid to read its memory? */
static bool is_confidential(void)
{
	FILE *file = fopen("/sys/kernel/security/lockdown", "re");
	char modes[64] = "";

	if (!file)
		return false;
	if (!fgets(modes, sizeof(modes), file))
		modes[0] = '\0';
	fclose(file);
	return strstr(modes, "[confidentiality]");
}

/* Note in `used` the helpers that this code calls. (Calls within BPF have a `src_reg`.) */
static void scan(const struct bpf_insn *code, size_t count, bool *used)
{
	for (size_t i = 0; i < count; i++)
		if (code[i].code == (BPF_JMP | BPF_CALL) && code[i].src_reg == 0 &&
		    code[i].imm > 0 && code[i].imm < MAX_HELPERS)
			used[code[i].imm] = true;
}

/* Find the helpers that our programs call, by enum bpf_func_id. */
static void find_helpers(bool used[MAX_HELPERS])
{
	Elf_Scn *section = NULL;
	size_t bytes;
	const void *elf = pptmon_bpf__elf_bytes(&bytes);
	Elf *file;

	memset(used, 0, MAX_HELPERS * sizeof(*used));
	elf_version(EV_CURRENT);
	file = elf_memory((char *)elf, bytes);
	while (file && (section = elf_nextscn(file, section))) {
		Elf_Data *data = elf_getdata(section, NULL);
		GElf_Shdr header;

		if (data && gelf_getshdr(section, &header) && (header.sh_flags & SHF_EXECINSTR))
			scan(data->d_buf, data->d_size / sizeof(struct bpf_insn), used);
	}
	elf_end(file);
}

/* Check that the kernel has each BPF helper that our programs call, and lets them read its
 * memory. */
static void check_helpers(struct lacks *lacks)
{
	bool used[MAX_HELPERS];

	find_helpers(used);
	if ((used[BPF_FUNC_probe_read] || used[BPF_FUNC_probe_read_kernel] ||
	     used[BPF_FUNC_probe_read_kernel_str]) &&
	    is_confidential()) {
		lack(lacks, "kernel memory that may be read: the kernel is locked down "
			    "(confidentiality); boot it with lockdown=integrity or lockdown=none");
		return;
	}
	for (unsigned int id = 0; id < MAX_HELPERS; id++)
		if (used[id] && libbpf_probe_bpf_helper(BPF_PROG_TYPE_SCHED_CLS,
							(enum bpf_func_id)id, NULL) == 0)
			lack(lacks, "%s (BPF helper %u); use " OLDEST " or later",
			     helper_names[id] ? helper_names[id] : "a helper", id);
}

/* Find the hook that works here; HOOK_AUTO if none does. */
static enum hook check_hooks(enum hook attach, struct lacks *lacks)
{
	if (attach != HOOK_CLSACT && tcx_works())
		return HOOK_TCX;
	if (attach == HOOK_TCX)
		lack(lacks, "tcx, which came with Linux 6.6; use --attach clsact or auto");
	else if (owned_filters_work())
		return HOOK_CLSACT;
	else
		lack(lacks, "clsact with BPF (modules sch_ingress and cls_bpf)%s",
		     attach == HOOK_AUTO ? ", and tcx, which came with Linux 6.6" : "");
	return HOOK_AUTO;
}

enum hook kernel_check(enum hook attach, struct lacks *lacks)
{
	lacks->count = 0;
	check_btf(lacks);
	if (check_capabilities(lacks) || check_bpf(lacks))
		return HOOK_AUTO;
	if (libbpf_probe_bpf_map_type(BPF_MAP_TYPE_RINGBUF, NULL) == 0)
		lack(lacks, "BPF ring buffers; use " OLDEST " or later");
	check_helpers(lacks);
	return check_hooks(attach, lacks);
}
