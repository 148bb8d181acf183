"""pack --with-sfcperf: the wheel and what it needs, as verify and README.md see them; the wheel
itself is made in tests/e2e/test_packaging.py."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.records.manifests import VERSIONS
from support.records.packages import (
    OPTIONS,
    PLAIN,
    contents,
    edited,
    finding,
    finished_run,
    resealed,
)

from sfcperf.errors import EnvironmentLacks, InputError
from sfcperf.package.kit import software as software_module
from sfcperf.package.pack import pack
from sfcperf.package.readme import readme_text
from sfcperf.package.verify import verify

VERSION = VERSIONS["sfcperf"]
"""Of the packaged run."""
WHEEL = f"software/sfcperf-{VERSION}-py3-none-any.whl"
NEEDED = "software/requirements.txt"
DIGEST = "0123456789abcdef" * 4
PINNED = f"# for all\nnumpy==2.0.0 \\\n    --hash=sha256:{DIGEST} \\\n    --hash=sha256:{DIGEST}\n"


def wheel(name: str = "sfcperf", version: str = VERSION) -> bytes:
    """The little of a wheel that says what it is."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(
            f"{name}-{version}.dist-info/METADATA",
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        )
    return made.getvalue()


def with_software(package: Path, target: Path, own: bytes, needed: bytes) -> Path:
    """The package as though it had been packed with these."""
    about = {"wheel": WHEEL, "requirements": NEEDED, "extras": ["p4"], "python": "3.11"}
    files = contents(package)
    document = json.loads(edited(files["package.json"], lambda d: d.update(software=about)))
    new = {
        "package.json": json.dumps(document).encode(),
        "README.md": readme_text(document).encode(),
        WHEEL: own,
        NEEDED: needed,
    }

    def described(crate: Any) -> None:
        for name in (WHEEL, NEEDED):
            crate["@graph"].append({"@id": name, "@type": "File"})
        root = next(entity for entity in crate["@graph"] if entity["@id"] == "./")
        root["hasPart"] += [{"@id": WHEEL}, {"@id": NEEDED}]

    crate = edited(files["ro-crate-metadata.json"], described)
    crate = edited(crate, lambda c: _unhashed(c, new))
    return resealed(package, target, {**new, "ro-crate-metadata.json": crate})


def _unhashed(crate: Any, names: Any) -> None:
    for entity in crate["@graph"]:
        if entity["@id"] in names:
            entity.pop("sha256", None)
            entity.pop("contentSize", None)


def test_a_good_one_holds_and_the_readme_says_how_to_install_it(
    package: Path, tmp_path: Path
) -> None:
    path = with_software(package, tmp_path / "p.zip", wheel(), PINNED.encode())
    verification = verify(path)
    assert verification.holds, verification
    # Nobody can make these again from the rest of the package.
    assert "software/" in finding(verification, "other files", "not checked")
    text = contents(path)["README.md"].decode()
    assert f"pip install --no-deps {WHEEL}" in text
    assert "--require-hashes" in text


@pytest.mark.parametrize(
    ("own", "needed", "told"),
    [
        (wheel(version="9.9"), PINNED, "was made with"),
        (wheel(name="mallory"), PINNED, "a wheel of mallory"),
        (b"PK", PINNED, "not a wheel"),
        (b"", PINNED, "not a wheel"),
        (wheel(), "numpy\n", "no version and hash"),
        (wheel(), "numpy==2.0.0\n", "no version and hash"),
        (wheel(), f"--index-url https://example.org\n{PINNED}", "no version and hash"),
        (wheel(), f"numpy @ https://example.org --hash=sha256:{DIGEST}\n", "no version and hash"),
    ],
)
def test_one_that_is_another_or_not_pinned_is_found(
    package: Path, tmp_path: Path, own: bytes, needed: str, told: str
) -> None:
    path = with_software(package, tmp_path / "p.zip", own, needed.encode())
    assert told in finding(verify(path), "agreement")


def test_files_that_are_missing_are_found(package: Path, tmp_path: Path) -> None:
    about = {"wheel": WHEEL, "requirements": NEEDED, "extras": [], "python": "3.11"}
    document = json.loads(contents(package)["package.json"]) | {"software": about}
    new = {
        "package.json": json.dumps(document).encode(),
        "README.md": readme_text(document).encode(),
    }
    path = resealed(package, tmp_path / "p.zip", new)
    assert WHEEL in finding(verify(path), "agreement")


def test_a_run_of_another_version_is_refused(tmp_path: Path) -> None:
    run = finished_run(tmp_path / "run-1", PLAIN)
    run.write_manifest({**run.manifest(), "sfcperf_version": "0.0.1"})
    with pytest.raises(InputError, match=r"made with SFCPerf 0\.0\.1"):
        pack([run], tmp_path / "p.zip", replace(OPTIONS, with_sfcperf=True))
    assert [path.name for path in tmp_path.iterdir()] == ["run-1"]


def test_without_an_index_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"UV_OFFLINE": "1", "UV_NO_CACHE": "1"}.items():
        monkeypatch.setenv(name, value)
    own = tmp_path / f"sfcperf-{VERSION}-py3-none-any.whl"
    own.write_bytes(wheel())
    with pytest.raises(EnvironmentLacks) as lacking:
        software_module._locked(own, [], tmp_path)
    assert lacking.value.hint
