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


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without other configurations."""
    for name in ("HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(tmp_path / "clouds.yaml"))


def refused(folder: Path, content: str | None, cloud: str | None = "x") -> EnvironmentLacks:
    if content is not None:
        (folder / "clouds.yaml").write_bytes(content.encode("latin-1"))
    with pytest.raises(EnvironmentLacks) as caught:
        _ = Cloud(cloud).connection
    return caught.value


@pytest.mark.parametrize(
    ("option", "kind"),
    [("cacert", "absent"), ("cacert", "garbage"), ("cacert", "fifo"), ("cert", "absent"),
     ("key", "absent")],
)  # fmt: skip
def test_a_certificate_that_cannot_be_used(tmp_path: Path, option: str, kind: str) -> None:
    file, other = tmp_path / "file.pem", tmp_path / "other.pem"
    other.write_text("")
    if kind == "garbage":
        file.write_text("no certificate\n")
    elif kind == "fifo":
        os.mkfifo(file)
    more = f"{option}: {file}" + (f"\n    cert: {other}" if option == "key" else "")
    error = refused(tmp_path, CLOUD.format(more=more))
    assert str(file) in error.message
    assert option in error.message


@pytest.mark.parametrize("content", ["clouds: [", "clouds: {x: {region_name: \xe9}}"])
def test_a_configuration_that_is_no_yaml(tmp_path: Path, content: str) -> None:
    assert str(tmp_path / "clouds.yaml") in refused(tmp_path, content).message


@pytest.mark.parametrize(
    "content", ["[1]", "clouds: [1]", "clouds: {x: y}", "clouds: {x: {auth: y}}"]
)
def test_a_configuration_of_another_structure(tmp_path: Path, content: str) -> None:
    refused(tmp_path, content)


@pytest.mark.parametrize(
    ("cloud", "content"), [(None, None), ("nowhere", None), ("nowhere", "clouds: {}")]
)
def test_without_a_cloud_it_is_said_how_to_configure_one(
    tmp_path: Path, cloud: str | None, content: str | None
) -> None:
    error = refused(tmp_path, content, cloud)
    assert "clouds.yaml" in (error.hint or "")
    assert (str(tmp_path / "clouds.yaml") in error.message) == (content is None)
