"""A dashboard as a saved object: its panels laid in Kibana's grid, its controls, its references."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sfcperf.elasticsearch.mappings import PREFIX
from sfcperf.kibana import lens, vega
from sfcperf.kibana.data_views import data_view_id
from sfcperf.kibana.fields import field
from sfcperf.kibana.saved_objects import SavedObject, identifier, reference, saved_object, text

TIME_FROM = "now-90d"
"""Start of the time range with which a dashboard opens, in Kibana's notation: 90 days ago."""

COLUMNS = 48
"""Width of a dashboard in Kibana's grid."""


_NO_QUERY = {"query": {"language": "kuery", "query": ""}, "filter": []}


@dataclass(frozen=True)
class Control:
    """A list of values to filter the whole dashboard by."""

    stream: str
    field: str
    title: str


@dataclass(frozen=True)
class Panel:
    """A panel and its size in the grid."""

    title: str
    content: lens.Lens | vega.Vega
    width: int
    height: int


@dataclass(frozen=True)
class Dashboard:
    """A dashboard. Its panels are laid in rows from the left, in their order."""

    key: str
    title: str
    description: str
    controls: tuple[Control, ...]
    panels: tuple[Panel, ...]


def saved_dashboard(dashboard: Dashboard, prefix: str) -> SavedObject:
    """Return a dashboard as a saved object, with references to the data views of its panels and
    controls."""
    places = list(_places(dashboard.panels))
    # Only Lens panels and controls name a data view; a Vega panel has a query of its own.
    panels = [
        _panel(dashboard, number, place, prefix) for number, place in enumerate(places, start=1)
    ]
    references = [
        reference(
            f"{panel['panelIndex']}:indexpattern-datasource-layer-{lens.LAYER}",
            data_view_id(place[0].content.stream, prefix),
        )
        for panel, place in zip(panels, places, strict=True)
        if panel["type"] == "lens"
    ]
    references += [
        reference(
            f"controlGroup_{_control_id(dashboard, number)}:optionsListDataView",
            data_view_id(control.stream, prefix),
        )
        for number, control in enumerate(dashboard.controls)
    ]
    attributes = {
        "title": dashboard.title if prefix == PREFIX else f"{dashboard.title} ({prefix})",
        "description": dashboard.description,
        "panelsJSON": text(panels),
        "controlGroupInput": _controls(dashboard),
        "optionsJSON": text({"useMargins": True, "hidePanelTitles": False, "syncColors": True}),
        "timeRestore": True,
        "timeFrom": TIME_FROM,
        "timeTo": "now",
        "version": 1,
        "kibanaSavedObjectMeta": {"searchSourceJSON": text(_NO_QUERY)},
    }
    id_ = identifier("dashboard", prefix, dashboard.key)
    return saved_object("dashboard", id_, attributes, references)


def _places(panels: Sequence[Panel]) -> Iterator[tuple[Panel, int, int]]:
    """Yield (panel, x, y): panels are laid in rows from the left, and a panel that does not fit
    begins a new row."""
    x = y = row_height = 0
    for panel in panels:
        if x + panel.width > COLUMNS:
            x, y, row_height = 0, y + row_height, 0
        yield panel, x, y
        x, row_height = x + panel.width, max(row_height, panel.height)


def _panel(
    dashboard: Dashboard, number: int, place: tuple[Panel, int, int], prefix: str
) -> dict[str, Any]:
    """Return a panel as Kibana stores it in `panelsJSON`, by value. `place`: panel, x, y in the
    grid."""
    panel, x, y = place
    index = identifier("panel", dashboard.key, str(number))
    common = {
        "panelIndex": index,
        "title": panel.title,
        "gridData": {"i": index, "x": x, "y": y, "w": panel.width, "h": panel.height},
    }
    if isinstance(panel.content, lens.Lens):
        view = data_view_id(panel.content.stream, prefix)
        config = {"attributes": panel.content.attributes(panel.title, view), "enhancements": {}}
        return {**common, "type": "lens", "embeddableConfig": config}
    saved = {
        "type": "vega",
        "title": panel.title,
        "description": "",
        "params": {"spec": text(panel.content.spec)},
        "uiState": {},
        "data": {"aggs": [], "searchSource": _NO_QUERY},
    }
    config = {"savedVis": saved, "enhancements": {}}
    return {**common, "type": "visualization", "embeddableConfig": config}


def _controls(dashboard: Dashboard) -> dict[str, Any]:
    """Return the controls of a dashboard as Kibana stores them. Raises UnknownField."""
    panels = {}
    for number, control in enumerate(dashboard.controls):
        # Only a check: the field must exist, and have values to choose from.
        field(control.stream, control.field, "terms")
        id_ = _control_id(dashboard, number)
        panels[id_] = {
            "order": number,
            "width": "medium",
            "grow": True,
            "type": "optionsListControl",
            "explicitInput": {
                "id": id_,
                "fieldName": control.field,
                "title": control.title,
                "selectedOptions": [],
                "enhancements": {},
            },
        }
    return {
        "chainingSystem": "HIERARCHICAL",
        "controlStyle": "oneLine",
        "ignoreParentSettingsJSON": text(
            {f"ignore{what}": False for what in ("Filters", "Query", "Timerange", "Validations")}
        ),
        "panelsJSON": text(panels),
    }


def _control_id(dashboard: Dashboard, number: int) -> str:
    return identifier("control", dashboard.key, str(number))
