"""Replay: show what a package would execute, execute it here, and judge what comes out."""
