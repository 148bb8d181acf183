"""SFCMon's P4 programs on bmv2's simple_switch_grpc."""
