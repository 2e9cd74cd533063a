"""`python -m massart` is the `massart` command."""

from massart.cli.main import run

run()
