"""What figures, reports, comparisons and dashboards share: units, colours, wording, pages."""
