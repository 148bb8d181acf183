"""Machines of a run: flavors, servers that boot, guests that answer by SSH, and diagnostics."""
