"""A page of SFCPerf, as the standard library's parser finds it."""

from __future__ import annotations

import base64
import gzip
import json
from html.parser import HTMLParser
from typing import Any


class Page(HTMLParser):
    """Elements and text of a page, as a browser's parser finds them."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.content: dict[str, list[str]] = {"script": [], "text": []}
        self._inside = "text"
        self.html = text
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._inside = tag
            self.content.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._inside = "text"

    def handle_data(self, data: str) -> None:
        if self._inside == "text":
            self.content["text"].append(data)
        else:
            self.content[self._inside][-1] += data

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.content["text"]).split())

    @property
    def tags(self) -> list[str]:
        return [tag for tag, _ in self.elements]

    def all(self, attribute: str) -> list[str]:
        return [a[attribute] or "" for _, a in self.elements if attribute in a]

    @property
    def data(self) -> dict[str, Any]:
        """Of its charts."""
        text: str | bytes = self.content["script"][0]
        if ("script", {"type": "application/gzip", "id": "report-data"}) in self.elements:
            text = gzip.decompress(base64.b64decode(text))
        found: dict[str, Any] = json.loads(text)
        return found
