"""Command lines for guests: as short as dropbear wants them, and never interpreted."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tiers import examples

from sfcperf.hosts.ssh import guest

TOKEN = "0123456789abcdef"
SHELLS = [["/bin/dash"], ["/bin/bash"], ["/bin/busybox", "sh"]]


@pytest.mark.parametrize("workdir", ["/tmp/sfcperf", "/tmp/it's a " + "long folder" * 15])
def test_the_guard_fits_into_a_command_of_dropbear(workdir: str) -> None:
    line = guest.guard(Path(workdir), TOKEN)
    assert len(line.encode()) < guest.LONGEST_COMMAND_BYTES


@pytest.mark.parametrize("shell", SHELLS)
def test_shells_understand_the_scripts(shell: list[str]) -> None:
    for text in (
        guest.guard(Path("/tmp/it's"), TOKEN),
        guest.start_script(Path("/tmp/it's"), TOKEN),
        guest.reader(TOKEN),
    ):
        subprocess.run([*shell, "-n", "-c", text], check=True, timeout=10)


words = st.lists(st.text(st.characters(exclude_characters="\0", codec="utf-8")), max_size=6)


@examples(30)
@given(given_words=words, shell=st.sampled_from(SHELLS), posix=st.booleans())
def test_words_arrive_as_they_are(
    given_words: list[str], shell: list[str], posix: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    life = tmp_path_factory.mktemp("it's a")
    (life / "start").write_text('for word; do printf "%s\\0" "$word"; done')
    inline = guest.command(str(life), given_words, "", root=True, posix=posix)
    (life / "arguments").write_bytes(guest.arguments(str(life / "arguments"), given_words))
    by_file = guest.command(str(life), None, str(life / "arguments"), root=True, posix=posix)
    for line in (inline, by_file):
        done = subprocess.run([*shell, "-c", line], check=True, timeout=10, capture_output=True)
        assert done.stdout.decode().split("\0")[:-1] == given_words
    assert not (life / "arguments").exists()
