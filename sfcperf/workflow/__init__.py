"""The workflow: what a user writes, validated, expanded into scenarios, and planned.

`load` makes a Workflow from a file, `plan` orders its trials, `schema` composes the JSON Schema.
"""
