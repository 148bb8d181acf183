"""SDN-Mon under test."""
