"""SFCMon: heavy hitters of a chain, found by sketches (docs/reference/sfcmon.md)."""
