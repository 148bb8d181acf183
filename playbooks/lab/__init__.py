"""A lab to try the driver `machines` without machines."""
