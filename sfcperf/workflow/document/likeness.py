"""Likeness: finds names that differ for SFCPerf, but not for file systems or databases."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sfcperf.workflow.document.pointer import Path

TELL_APART = (
    "names that differ in more than upper and lower case: results have files of these names"
)


def as_file(name: str) -> str:
    """Form of a name on a file system that ignores case, such as that of a reader's laptop."""
    return name.casefold()


def as_column(name: str) -> str:
    """Form of a factor's name as a column of SQL, which ignores case, and as a field of
    Elasticsearch, where a dot would make an object."""
    return name.casefold().replace(".", "_")


def alike(names: Iterable[str], form: Callable[[str], str] = as_file) -> list[tuple[str, str]]:
    """Pairs of different names that have the same form: each name with the first one like it."""
    first: dict[str, str] = {}
    pairs = []
    for name in names:
        known = first.setdefault(form(name), name)
        if known != name:
            pairs.append((known, name))
    return pairs


def check_alike(path: Path, names: Iterable[str], report: Callable[..., None]) -> None:
    """Report names below a path that are alike as files, because files in the results have these
    names."""
    for known, name in alike(names):
        message = f"{known!r} and {name!r} differ only in case"
        report((*path, name), message, allowed=TELL_APART)
