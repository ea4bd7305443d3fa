"""What is measured of drawings, one idea per file: pure functions of features."""
