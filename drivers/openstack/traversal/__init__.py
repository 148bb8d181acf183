"""Proof that packets cross the functions of a chain, by captures on the machines themselves."""
