"""The tables of docs/paper-to-code.md."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "paper-to-code.md"


def _sections():
    """Heading -> rows of its tables, each row a list of cells, header and rule dropped."""
    tables, heading = {}, ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
            tables[heading] = []
        elif line.startswith("|"):
            tables[heading].append([cell.strip() for cell in line.strip().strip("|").split("|")])
    return {heading: rows[2:] for heading, rows in tables.items()}


SECTIONS = _sections()


def rows_of(beginning):
    (heading,) = (heading for heading in SECTIONS if heading.startswith(beginning))
    return SECTIONS[heading]
