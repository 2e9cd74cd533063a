"""Thin commands: parse, one call, print; heavy imports inside the command."""
