"""JSON Schemas of the files that SFCPerf reads and writes."""
