"""Compiles the kernels when the wheel is built: docs/building.md explains how."""
