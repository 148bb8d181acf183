"""sfc-send: the tool with which marked packets leave a host, also one without Python."""
