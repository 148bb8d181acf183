"""A cloud that fails where a test says so: a proxy in front of the APIs of a real one."""
