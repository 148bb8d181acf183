"""What tests of VNFs share."""
