"""`python -m massart` is the `massart` command."""

from massart.cli.main import app

app()
