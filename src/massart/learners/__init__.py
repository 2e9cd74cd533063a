"""What remembers something between rounds."""
