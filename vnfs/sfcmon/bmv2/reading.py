"""What a switch tells by P4Runtime."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from finsy import Switch

Entity = TypeVar("Entity")


async def read(switch: Switch, entity: Entity) -> list[Entity]:
    """All entities of the switch that are like this one. Raises what finsy raises."""
    # finsy annotates `read` as a coroutine that gives a generator; it is a generator.
    found = cast("AsyncIterator[Entity]", switch.read(cast("Any", entity)))
    return [each async for each in found]
