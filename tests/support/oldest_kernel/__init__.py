"""A machine with the oldest kernel that the README names, for tests: a kernel package, never installed
here, booted in an emulator that needs no hardware support."""
