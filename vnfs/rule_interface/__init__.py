"""Rules that others set while a function works: their REST interface, and what it may do."""
