"""What a switch tells by P4Runtime."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from sfcperf.vnfs.sfcmon.bmv2.programs import DROP_REASONS, WAYS

if TYPE_CHECKING:
    from finsy import Switch

Entity = TypeVar("Entity")


async def read(switch: Switch, entity: Entity) -> list[Entity]:
    """Read all entities of the switch that are like this one. Raises what finsy raises."""
    # finsy annotates `read` as a coroutine that gives a generator; it is a generator.
    entities = cast("AsyncIterator[Entity]", switch.read(cast("Any", entity)))
    return [each async for each in entities]


async def counters(switch: Switch) -> dict[str, Any]:
    """Return the counters of a switch. `paths`: packets and bytes of frames by SPI and SI; `drops`:
    packets by reason; `forwarded`: packets by how they left. Raises what finsy raises."""
    # The first cell counts for no reason.
    drops = await _cells(switch, "drops", ("", *DROP_REASONS))
    del drops[""]
    return {
        "paths": await _paths(switch),
        "drops": drops,
        "forwarded": await _cells(switch, "forwarded", WAYS),
    }


async def _cells(switch: Switch, counter: str, names: Iterable[str]) -> dict[str, int]:
    """Return the packets in the cells of a counter. `names` are those of its cells, in order."""
    from finsy import P4CounterEntry

    cells = await read(switch, P4CounterEntry(counter))
    return dict(zip(names, (cell.packet_count for cell in cells), strict=True))


async def _paths(switch: Switch) -> list[dict[str, int]]:
    """Return `spi`, `si`, `packets` and `bytes` for each entry of the table `paths`. The default
    action, which has no SPI and SI, is left out."""
    from finsy import P4DirectCounterEntry

    paths = []
    for hop in await read(switch, P4DirectCounterEntry("hops")):
        if hop.table_entry is not None and (match := dict(hop.table_entry.match or {})):
            key = {name: int(cast("int", match[name])) for name in ("spi", "si")}
            paths.append({**key, "packets": hop.packet_count, "bytes": hop.byte_count})
    return paths
