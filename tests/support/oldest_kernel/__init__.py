"""A machine with the oldest kernel that the README names, for tests.

It is a kernel package that is never installed here, booted in an emulator that needs no help from
the processor.
"""
