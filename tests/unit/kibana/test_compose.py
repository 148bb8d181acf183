"""The compose file in docs/: its form, and what must hold of it. It is not run: there is no
container engine where the tests are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

FOLDER = Path(__file__).resolve().parents[3] / "docs" / "elasticsearch-kibana"


@pytest.fixture
def services() -> dict[str, Any]:
    return yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"]


def test_ports_are_open_on_the_loopback_only(services: dict[str, Any]):
    ports = [port for service in services.values() for port in service.get("ports", ())]
    assert ports == ["127.0.0.1:9200:9200", "127.0.0.1:5601:5601"]


def test_passwords_are_asked_for_and_have_no_default(services: dict[str, Any]):
    used = re.findall(r"(?<!\$)\$\{(\w+)(.*?)\}", (FOLDER / "compose.yaml").read_text())
    assert used
    assert all(rest.startswith(":?") for _, rest in used)
    example = (FOLDER / ".env.example").read_text()
    assert {name for name, _ in used} == set(re.findall(r"^(\w+)=$", example, re.MULTILINE))


def test_one_version_of_everything_and_waiting_leads_somewhere(services: dict[str, Any]):
    assert len({service["image"].partition(":")[2] for service in services.values()}) == 1
    for service in services.values():
        assert set(service.get("depends_on", {})) <= services.keys()
