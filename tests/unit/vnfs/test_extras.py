"""What the controllers need is extra: commands import none of it, and say how to install it."""

from __future__ import annotations

from types import ModuleType

import pytest
from support.heavy import imports

from sfcperf.dataplane.sdnmon.controller import requirements as of_sdnmon
from sfcperf.environment import tools
from sfcperf.vnfs.sfcmon.controller import requirements as of_sfcmon


@pytest.mark.parametrize(
    ("controller", "extra", "package"),
    [(of_sdnmon, "openflow", "os_ken"), (of_sfcmon, "p4", "fastapi")],
    ids=["sdnmon", "sfcmon"],
)
def test_without_the_extra_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, controller: ModuleType, extra: str, package: str
) -> None:
    assert controller.requirement().met
    monkeypatch.setattr(tools, "find_spec", lambda _: None)
    found = controller.requirement()
    assert not found.met
    assert (found.remedy, package in found.detail) == (f"pip install 'sfcperf[{extra}]'", True)


def test_the_command_line_imports_nothing_of_the_extras() -> None:
    packages = ("fastapi", "finsy", "numpy", "os_ken", "pydantic", "thriftpy2", "uvicorn")
    assert imports("from sfcperf.cli.app import app", packages) == ""
