"""What a host without a configuration of Suricata gets: that of this machine, with its files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from sfcperf.errors import DeploymentError
from sfcperf.hosts.base import CompletedCommand
from sfcperf.hosts.namespace import LocalHost, NamespaceHost
from sfcperf.vnfs.ips.configuration import options

OWN = "drop ip any any -> any any (sid:1;)\n"


class Elsewhere(NamespaceHost):
    """A host that has none of this machine's files; here it has what is copied to it."""

    def run_unchecked(
        self, argv: Sequence[str], timeout_s: float, stdin: bytes | None
    ) -> CompletedCommand:
        if argv[0] == "test":
            return CompletedCommand(tuple(argv), 1, b"", b"")
        return super().run_unchecked(argv, timeout_s, stdin)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """It names rules by a wildcard, rules that are not there, and two of four files beside them."""
    here = tmp_path / "etc"
    (here / "rules").mkdir(parents=True)
    (here / "rules" / "a.rules").write_text("alert tcp any any -> any any (sid:2;)")
    (here / "rules" / "b.rules").write_bytes(b"# \xff\n")
    (here / "classes").write_text("config classification: x,y,1\n")
    file = here / "suricata.yaml"
    file.write_text(
        f"%YAML 1.1\n---\ndefault-rule-path: {here}/rules\nrule-files:\n  - '[ab].rules'\n"
        f"  - absent.rules\nclassification-file: {here}/classes\nthreshold-file: /no/such\n"
        f"reference-config-file: /no/such\nmagic-file: {here}/magic.mgc\n"
    )
    (here / "magic.mgc").write_bytes(b"\x1c\x04")
    return file


def test_a_host_that_has_it_keeps_it(config: Path, tmp_path: Path) -> None:
    host = LocalHost(tmp_path)
    assert options(host, str(config), tmp_path, OWN) == [
        *("-c", str(config), "-s", str(tmp_path / "sfcperf.rules")),
    ]
    assert (tmp_path / "sfcperf.rules").read_text() == OWN


def test_another_host_gets_all_that_it_names(config: Path, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    assert options(Elsewhere("vm", None, tmp_path), str(config), there, OWN) == [
        *("-c", str(there / "suricata.yaml"), "-S", str(there / "sfcperf.rules")),
        *("--set", f"classification-file={there}/classes"),
        *("--set", f"magic-file={there}/magic.mgc"),
    ]
    assert (there / "suricata.yaml").read_bytes() == config.read_bytes()
    assert (there / "classes").read_text() == "config classification: x,y,1\n"
    assert (there / "magic.mgc").read_bytes() == b"\x1c\x04"
    rules = (there / "sfcperf.rules").read_bytes()
    assert rules == b"alert tcp any any -> any any (sid:2;)\n# \xff\n\n" + OWN.encode()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "neither vm nor this machine"),
        ("a: [", "is not YAML"),
        ("root:x:0", "is no configuration"),
    ],
)
def test_what_is_none_is_refused(content: str | None, words: str, tmp_path: Path) -> None:
    """Nothing of it is copied."""
    file = tmp_path / "suricata.yaml"
    if content is not None:
        file.write_text(content)
    there = tmp_path / "there"
    with pytest.raises(DeploymentError, match=words):
        options(Elsewhere("vm", None, tmp_path), str(file), there, OWN)
    assert not there.exists()
