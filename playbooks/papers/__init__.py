"""The papers' experiments in full: measured one after the other, kept, and shown in the docs."""
