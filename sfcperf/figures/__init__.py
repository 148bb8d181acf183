"""Figures of one run or of many: which, of what points, drawn how, as which files.

`RunData` reads a run; `chosen_figures` selects figures; `resolve_figures` gives their points and
fitted lines, which `write_figures` draws with matplotlib and `sfcperf.report` in the browser.
Imports `sfcperf.presentation` of the packages that show results. matplotlib is imported when
something is drawn.
"""
