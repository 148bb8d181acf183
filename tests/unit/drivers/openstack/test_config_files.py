"""clouds.yaml and the files that it names: the file is named that cannot be used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.errors import EnvironmentLacks

CLOUD = """clouds:
  x:
    auth: {{auth_url: "https://127.0.0.1:9/v3", username: u, password: p, project_name: p}}
    {more}
"""


def refused(folder: Path, monkeypatch: pytest.MonkeyPatch, content: str) -> EnvironmentLacks:
    (folder / "clouds.yaml").write_bytes(content.encode("latin-1"))
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(folder / "clouds.yaml"))
    with pytest.raises(EnvironmentLacks) as caught:
        _ = Cloud("x").connection
    return caught.value


@pytest.mark.parametrize("option", ["cacert", "cert", "key"])
@pytest.mark.parametrize("kind", ["absent", "garbage", "fifo"])
def test_a_certificate_that_cannot_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str, kind: str
) -> None:
    file, other = tmp_path / "file.pem", tmp_path / "other.pem"
    other.write_text("")
    if kind == "garbage":
        file.write_text("no certificate\n")
    elif kind == "fifo":
        os.mkfifo(file)
    more = f"{option}: {file}" + (f"\n    cert: {other}" if option == "key" else "")
    error = refused(tmp_path, monkeypatch, CLOUD.format(more=more))
    assert str(file) in error.message
    assert option in error.message


@pytest.mark.parametrize("content", ["clouds: [", "clouds: {x: {region_name: \xe9}}"])
def test_a_configuration_that_is_no_yaml(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    error = refused(tmp_path, monkeypatch, content)
    assert str(tmp_path / "clouds.yaml") in error.message


@pytest.mark.parametrize(
    "content", ["[1]", "clouds: [1]", "clouds: {x: y}", "clouds: {x: {auth: y}}", "clouds: {}"]
)
def test_a_configuration_of_another_structure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    refused(tmp_path, monkeypatch, content)


def test_a_configuration_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(tmp_path / "absent.yaml"))
    with pytest.raises(EnvironmentLacks, match="absent"):
        _ = Cloud("x").connection
