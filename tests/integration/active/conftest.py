"""A cable of its own for each test."""

from collections.abc import Iterator

import pytest
from support.network.cable import Cable, cable


@pytest.fixture
def wire() -> Iterator[Cable]:
    with cable() as made:
        yield made
