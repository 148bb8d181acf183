"""What figures, reports, comparisons and dashboards share: units, colours, words, parts of pages.

The lowest of the packages that show results: it knows records and workflows, and none of the
others. `figures` builds on it, `report` on `figures`; `comparison` and `kibana` build on it alone.
None of them imports sfcperf.control, sfcperf.active or sfcperf.drivers.
"""
