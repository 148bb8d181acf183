"""One connection to a cloud: calls with retries, errors in the cloud's own words."""
