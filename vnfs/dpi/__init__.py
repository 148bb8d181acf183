"""The DPI: kernel forwarding with nDPI looking on, NSH-unaware."""
