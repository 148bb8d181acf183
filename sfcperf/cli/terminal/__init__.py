"""The terminal: standard streams, escaping, consoles, and the progress of a run.

Other modules import these directly: what a verb does not show, it does not load.
"""
