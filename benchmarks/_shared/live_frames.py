"""Programs that send frames by XDP (live_frames.h)."""

from __future__ import annotations

from pathlib import Path

from _shared.chain import output


def compiled(source: Path, folder: Path) -> list[str]:
    """The command whose program of the kernel is SOURCE.bpf.c, and that of the user SOURCE.c."""
    includes = f"-I/usr/include/{output(['gcc', '-print-multiarch']).strip()}"
    kernel, user = folder / f"{source.name}.bpf.o", folder / source.name
    clang = ["clang", "-O2", "-g", "-target", "bpf", "-mcpu=v3", includes, "-c"]
    output([*clang, f"{source}.bpf.c", "-o", str(kernel)])
    output(["gcc", "-O2", f"{source}.c", "-lbpf", "-o", str(user)])
    return [str(user), str(kernel)]
