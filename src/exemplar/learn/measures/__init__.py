"""What is measured of learning, one idea per file: pure functions of records."""
