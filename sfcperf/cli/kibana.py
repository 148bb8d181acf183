"""`sfcperf kibana export|import`: data views and dashboards as saved objects."""

from __future__ import annotations

import typer

app = typer.Typer(
    help="Data views and dashboards for Kibana.", no_args_is_help=True, rich_markup_mode=None
)
