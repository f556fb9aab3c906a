"""Write what derives from the settings: the run config in pyproject.toml and docs/settings.md.

python tools/write_settings.py            writes both
python tools/write_settings.py --check    says whether both are up to date (exit status 1: not)
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from fedbn.federation.run_config import to_run_config
from fedbn.federation.settings import Experiment, all_settings
from fedbn.learners.table import users_of
from simulations.options import SIMULATED

ROOT = Path(__file__).resolve().parent.parent
PROJECT, PAGE = ROOT / "pyproject.toml", ROOT / "docs" / "settings.md"
DEMO = Experiment.of(network="alarm", clients=2, out_dir="results/flower-{run}")
"""What `flwr run .` runs in a checkout: as many clients as a fresh Flower home has nodes."""

HEAD = """# Settings of a run

Every setting has a key, and each program takes settings in its own ways:

| program | settings as options | single settings by key | a file of settings |
|---|---|---|---|
| `fedbn simulate` | most, as `--key value` | `--set key=value` | `--config run.toml` |
| `fedbn learn` | those of tables and learners | no | no |
| `fedbn app` | no | `--set key=value` | `--config run.toml` |
| `fedbn courier start` | no | `--set key=value` | `RUN.toml`, its argument |
| `flwr run` | no | `--run-config "key=value"` | the app that `fedbn app` wrote |

Client and site mean the same here: a site takes part in a run as one of its clients. A state is
one of the values of a column. `none` stands for a setting that is not given, both below and in a
run config; for `parameters` alone it is a value: no parameters. With a private learner
`fedbn simulate` has no defaults of its own. `python tools/write_settings.py` writes this page from
the settings themselves.
"""


def config_text() -> str:
    """The lines of `[tool.flwr.app.config]`."""
    flat = to_run_config(DEMO)
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in flat.items())


def page_text() -> str:
    """docs/settings.md."""
    sections: dict[str, list[str]] = {}
    for group, each in all_settings():
        title = (group or "run").capitalize()
        users = users_of(each.name) if group == "learner" else ()
        words = each.help + (f" For {', '.join(users)}." if users else "")
        where = " Not in the run config." if each.local else ""
        default = each.shown or ("none" if each.default in (None, ()) else str(each.default))
        if each.key in SIMULATED:
            default += f" (`fedbn simulate`: {SIMULATED[each.key]})"
        sections.setdefault(title, []).append(f"| `{each.key}` | {default} | {words}{where} |")
    parts = [HEAD]
    for title, rows in sections.items():
        parts.append(f"\n## {title}\n\n| key | default | meaning |\n|---|---|---|\n")
        parts.append("\n".join(rows) + "\n")
    return "".join(parts)


def project_text() -> str:
    """pyproject.toml with the run config replaced."""
    text = PROJECT.read_text(encoding="utf-8")
    section = re.compile(r"(\[tool\.flwr\.app\.config\]\n)(?:[a-z].*\n)*")
    return section.sub(lambda found: found[1] + config_text(), text)


def main() -> None:
    """Write both files, or check them."""
    wanted = {PROJECT: project_text(), PAGE: page_text()}
    stale = [path for path, text in wanted.items() if _read(path) != text]
    if "--check" in sys.argv[1:]:
        sys.exit(1 if stale else 0)
    for path in stale:
        path.write_text(wanted[path], encoding="utf-8")


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


if __name__ == "__main__":
    main()
