"""The serving layer: a process from verdicts to rules, with a REST interface.

Modules are imported directly: those of the process need the extra `security`.
"""
