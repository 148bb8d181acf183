"""The workflow: what a user writes, validated, expanded into scenarios, and planned."""
