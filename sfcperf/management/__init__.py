"""Management: deployments and sensing tools, through a driver."""
