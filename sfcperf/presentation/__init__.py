"""What figures, reports, comparisons, dashboards share: units, colours, words, parts of pages."""
