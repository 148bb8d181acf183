"""The IDS: forwards packets and extracts features of their flows."""
