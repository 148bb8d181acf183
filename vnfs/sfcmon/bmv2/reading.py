"""Reads entities and counters of a switch by P4Runtime."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from sfcperf.vnfs.sfcmon.bmv2.programs import DROP_REASONS, WAYS

if TYPE_CHECKING:
    from finsy import Switch

Entity = TypeVar("Entity")


async def read(switch: Switch, entity: Entity) -> list[Entity]:
    """Return all entities of the switch that are like this one. Raises what finsy raises."""
    # finsy annotates `read` as a coroutine that gives a generator; it is a generator.
    found = cast("AsyncIterator[Entity]", switch.read(cast("Any", entity)))
    return [each async for each in found]


async def counters(switch: Switch) -> dict[str, Any]:
    """Return what the switch has counted: `paths`, packets and bytes of frames by SPI and SI;
    `drops`, packets by reason; `forwarded`, packets by how they left. Raises what finsy raises."""
    drops = await _cells(switch, "drops", ("", *DROP_REASONS))
    del drops[""]
    return {
        "paths": await _paths(switch),
        "drops": drops,
        "forwarded": await _cells(switch, "forwarded", WAYS),
    }


async def _cells(switch: Switch, counter: str, names: Iterable[str]) -> dict[str, int]:
    """Return the packets in the cells of a counter, by the names of the cells."""
    from finsy import P4CounterEntry

    cells = await read(switch, P4CounterEntry(counter))
    return dict(zip(names, (cell.packet_count for cell in cells), strict=True))


async def _paths(switch: Switch) -> list[dict[str, int]]:
    from finsy import P4DirectCounterEntry

    found = []
    for hop in await read(switch, P4DirectCounterEntry("hops")):
        if hop.table_entry is not None and (match := dict(hop.table_entry.match or {})):
            key = {name: int(cast("int", match[name])) for name in ("spi", "si")}
            found.append({**key, "packets": hop.packet_count, "bytes": hop.byte_count})
    return found
