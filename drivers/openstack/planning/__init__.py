"""What scenarios need of a cloud, and whether it has that: before anything is made."""
