"""What tests of pptmon share."""
