// SPDX-License-Identifier: Apache-2.0
#include <gelf.h>
#include <linux/bpf.h>
#include <string.h>

#include "helpers.h"

#define NAME(helper) [BPF_FUNC_##helper] = "bpf_" #helper

static const char *const names[MAX_HELPERS] = { __BPF_FUNC_MAPPER(NAME) };

static void scan(const struct bpf_insn *code, size_t count, struct helpers *helpers)
{
	for (size_t i = 0; i < count; i++)
		if (code[i].code == (BPF_JMP | BPF_CALL) && code[i].src_reg == 0 &&
		    code[i].imm > 0 && code[i].imm < MAX_HELPERS)
			helpers->used[code[i].imm] = true;
}

int find_helpers(const void *elf, size_t bytes, struct helpers *helpers)
{
	Elf *file;
	Elf_Scn *section = NULL;

	memset(helpers, 0, sizeof(*helpers));
	elf_version(EV_CURRENT);
	file = elf_memory((char *)elf, bytes);
	if (!file)
		return -1;
	while ((section = elf_nextscn(file, section))) {
		Elf_Data *data = elf_getdata(section, NULL);
		GElf_Shdr header;

		if (data && gelf_getshdr(section, &header) && (header.sh_flags & SHF_EXECINSTR))
			scan(data->d_buf, data->d_size / sizeof(struct bpf_insn), helpers);
	}
	elf_end(file);
	return 0;
}

const char *helper_name(unsigned int id)
{
	return id < MAX_HELPERS && names[id] ? names[id] : "helper";
}
