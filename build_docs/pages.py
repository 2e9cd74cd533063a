"""The pages that are generated: the reference of commands, from the commands themselves, and llms.txt, from the pages.

`make golden` writes them; a test fails if they are not what this makes. Nothing depends on a terminal or its width.
"""

import re
from pathlib import Path
from typing import Any

import yaml
from typer.main import get_command

from massart.cli.app import app

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"


def commands() -> str:
    """`docs/commands.md`: every command with its arguments, options and examples."""
    group = get_command(app)
    lines = ["# Commands", "", "Made from the commands themselves; `massart COMMAND --help` shows the same.", ""]
    for name, command in group.commands.items():
        lines += [f"## massart {name}", "", *_described(command.help or ""), *_parameters(name, command), ""]
    return "\n".join(lines).rstrip() + "\n"


def llms() -> str:
    """`docs/llms.txt`: what the package is, and each page of the site with its first sentence."""
    settings = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), yaml.SafeLoader)
    lines = [f"# {settings['site_name']}", "", f"> {settings['site_description']}", ""]
    top: list[str] = []
    sections: list[str] = []
    for entry in settings["nav"]:
        ((title, place),) = entry.items()
        if isinstance(place, str):
            top.append(_linked(title, place))
        else:
            sections += ["", f"## {title}", "", *_flat(place)]
    return "\n".join([*lines, *top, *sections]) + "\n"


def nav(entries: list[dict[str, Any]]) -> list[str]:
    """The files of a navigation, in order."""
    found: list[str] = []
    for entry in entries:
        for place in entry.values():
            found += [place] if isinstance(place, str) else nav(place)
    return found


def _flat(entries: list[dict[str, Any]], before: str = "") -> list[str]:
    lines = []
    for entry in entries:
        ((title, place),) = entry.items()
        lines += [_linked(before + title, place)] if isinstance(place, str) else _flat(place, f"{title}: ")
    return lines


def _linked(title: str, place: str) -> str:
    address = re.sub(r"(?:index)?\.md$", "", place)
    address += "/" if address and not address.endswith("/") else ""
    return f"- [{title}]({address or './'}): {_first_sentence(DOCS / place)}"


def _first_sentence(page: Path) -> str:
    """Of the first paragraph that is text, without links and emphasis."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for paragraph in text.split("\n\n"):
        words = " ".join(paragraph.split())
        if words and words[0] not in "#!|:-<$":
            plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", words).replace("**", "").replace("*", "")
            return re.split(r"(?<=[a-z0-9)`][.:?])\s+(?=[A-Z`])", plain)[0].rstrip(":")
    return ""


def _described(text: str) -> list[str]:
    """The help of a command: its sentences, and its examples as a block."""
    sentences, _, examples = text.partition("[bold]Example[/bold]")
    lines = [*re.sub(r"\[/?bold\]", "**", sentences.strip()).splitlines(), ""]
    shown = [line.strip() for line in examples.splitlines() if line.strip()]
    return [*lines, "```text", *shown, "```", ""] if shown else lines


def _parameters(name: str, command: Any) -> list[str]:
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option" and not one.hidden]
    usage = " ".join([f"massart {name}", "[OPTIONS]", *(_argument(one) for one in arguments)])
    lines = [f"`{usage}`", "", "| argument or option | what it is |", "|---|---|"]
    lines += [f"| `{_argument(one)}` | {_cell(one.help or '')} |" for one in arguments]
    return lines + [_row(one) for one in options]


def _argument(one: Any) -> str:
    word = (one.metavar or one.name or "").upper()
    word += "..." if one.nargs == -1 and not word.endswith("...") else ""
    return word if one.required else f"[{word}]"


def _row(one: Any) -> str:
    names = ", ".join(f"`{name}`" for name in [*sorted(one.opts, key=len, reverse=True), *one.secondary_opts])
    value = "" if one.is_flag or not one.metavar else f" `{one.metavar}`"
    value = value.replace("|", "\\|")
    facts = [_cell(one.help or "")]
    if one.required:
        facts.append("Required.")
    elif one.show_default and not one.is_flag and isinstance(one.default, (int, float, str)) and one.default != "":
        facts.append(f"Default: {one.default}.")
    elif isinstance(one.show_default, str):
        facts.append(f"Default: {one.show_default}.")
    return f"| {names}{value} | {' '.join(facts)} |"


def _cell(text: str) -> str:
    """One cell of a table: no line breaks, no bars, no markup of Rich."""
    return (
        re.sub(r"\\\[", "[", re.sub(r"\[/?(?:bold|dim)\]", "", " ".join(text.split())))
        .replace("|", "\\|")
        .replace("<", "&lt;")
    )


PAGES = {"commands.md": commands, "llms.txt": llms}

if __name__ == "__main__":
    for page, made in PAGES.items():
        (DOCS / page).write_text(made(), encoding="utf-8")
