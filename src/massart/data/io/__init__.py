"""Bytes: sources, compression, blocks, reading ahead."""
