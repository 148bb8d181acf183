"""Management: deployments, in the words of RFC 7665, and their health."""
