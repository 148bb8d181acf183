"""Packages that take long to import: commands that can do without them do."""

HEAVY = (
    "numpy",
    "scipy",
    "pyarrow",
    "duckdb",
    "plotly",
    "matplotlib",
    "pyroute2",
    "toscaparser",
    "jsonschema",
)
