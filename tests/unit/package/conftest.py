from __future__ import annotations

from pathlib import Path

import pytest
from support.records.claimed_run import WITH_CLAIMS
from support.records.packages import PLAIN, packed


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A good package without figures; beside it the run folder `run-1`. Not to be changed."""
    return packed(tmp_path_factory.mktemp("package"), PLAIN)


@pytest.fixture(scope="session")
def drawn_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with figures."""
    return packed(tmp_path_factory.mktemp("drawn"))


@pytest.fixture(scope="session")
def claimed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package of a run with a claim for each verdict. Not to be changed."""
    return packed(tmp_path_factory.mktemp("claimed"), WITH_CLAIMS)
