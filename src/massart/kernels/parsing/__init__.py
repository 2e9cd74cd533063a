"""Compiled loops over text: numbers, names, rows of each format."""
