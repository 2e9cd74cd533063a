"""Pages in a headless Chromium, started once: all are frames of one page, and a phone is a frame as wide as one."""

import html
import json
import re
import shutil
import subprocess

import processes
import pytest

PATH = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needed = pytest.mark.skipif(PATH is None, reason="no Chromium here: apt-get install chromium, and run again")
OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--virtual-time-budget=5000",
]
FRAMES = """<!DOCTYPE html><body>{frames}<script>
addEventListener("load", () => {{
  const seen = {{}};
  for (const frame of document.querySelectorAll("iframe")) {{
    seen[frame.id] = JSON.parse(frame.contentDocument.body.dataset.seen || '{{"errors": ["the page did not load"]}}');
  }}
  document.body.dataset.seen = JSON.stringify(seen);
}});
</script>"""


def seen(folder, pages, spy):
    """What a script, `spy`, has left in `document.body.dataset.seen` of each page; names end in the widths of pages."""
    frames = []
    for name, page in pages.items():
        path = folder / f"{name.replace(' ', '-')}.html"
        path.write_text(page.replace("<head>", f"<head>{spy}", 1), encoding="utf-8")
        width = name.split()[1]
        frames.append(f'<iframe id="{name}" src="{path.name}" style="width:{width}px;height:4000px"></iframe>')
    (folder / "frames.html").write_text(FRAMES.format(frames="".join(frames)), encoding="utf-8")
    command = [
        PATH,
        *OPTIONS,
        "--allow-file-access-from-files",
        f"--user-data-dir={folder / 'profile'}",
        "--window-size=1400,4000",
        "--dump-dom",
        (folder / "frames.html").as_uri(),
    ]
    done = processes.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True)
    (found,) = re.findall(r'<body data-seen="(.*?)">', done.stdout, flags=re.S) or [done.stdout + done.stderr]
    return json.loads(html.unescape(found))
