"""Which CPUs DPDK runs on."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfcperf.vnfs.heavy_hitter.cpu import NEEDED, lacking

# Of guests of QEMU 7.2 without KVM.
COMMON = "fpu de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush mmx fxsr sse"
QEMU64 = (
    f"{COMMON} sse2 syscall nx lm rep_good nopl cpuid extd_apicid pni cx16 hypervisor lahf_lm svm "
    "3dnowprefetch vmmcall"
)
NEHALEM = (
    f"{COMMON} sse2 syscall nx lm constant_tsc rep_good nopl xtopology cpuid pni ssse3 cx16 sse4_1 "
    "sse4_2 popcnt hypervisor lahf_lm"
)
# Of a Raspberry Pi 4.
ARM = "processor\t: 0\nBogoMIPS\t: 108.00\nFeatures\t: fp asimd evtstrm crc32 cpuid\n"


@pytest.mark.parametrize(("flags", "lacks"), [(QEMU64, NEEDED), (NEHALEM, ())])
def test_models_of_qemu(flags: str, lacks: tuple[str, ...]) -> None:
    cpuinfo = f"processor\t: 0\nmodel name\t: a model\nflags\t\t: {flags}\nbugs\t\t: sse4_2\n"
    assert lacking(cpuinfo) == lacks


def test_other_architectures_and_this_machine_lack_nothing() -> None:
    assert lacking(ARM) == lacking(Path("/proc/cpuinfo").read_text()) == ()
