"""NSH codec (RFC 8300) that all data planes share."""
