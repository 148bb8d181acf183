from support.network.cable import wire

__all__ = ["wire"]
