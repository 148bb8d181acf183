"""Servers of the end-to-end tests: one of each for the whole session."""

from __future__ import annotations

from support.servers.browser import browser, started_browser
from support.servers.elasticsearch import elasticsearch, elasticsearch_server

__all__ = ["browser", "elasticsearch", "elasticsearch_server", "started_browser"]
