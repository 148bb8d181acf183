"""The serving layer: a process that makes rules from verdicts and sets them, with a REST interface.

Import its modules directly: those of the process need the extra `security`.
"""
