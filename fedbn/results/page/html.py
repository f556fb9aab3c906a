"""The report as HTML: content in, one self-contained page out.

Nothing is loaded from anywhere: style, script and data are in the page, and its policy forbids the
rest. Names come from tables of strangers: here they are escaped, in the script they are only ever
text. Without JavaScript there are the headline, the drawing of the consensus and the first rows of
all tables.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib import resources
from typing import Any

from fedbn.graphs.directions import ARROWS
from fedbn.results.page.groups import groups_section
from fedbn.results.page.numbers import numbers_section
from fedbn.results.page.svg import curve_svg, legend, network_svg
from fedbn.results.page.tables import edge_table, page_table, parameter_tables, site_table
from fedbn.results.page.variables import variables_section
from fedbn.results.page.words import number
from fedbn.wording import count_of

UNSCRIPTED = ("settings", "versions", "inputs", "hashes", "command", "consensus", "bif",
              "answers", "parameter_remarks")  # fmt: skip
"""Parts of the content that the script does not need."""


def page_html(content: Mapping[str, Any]) -> str:
    """The page of a report's content; equal contents have equal pages."""
    body = [
        _header(content),
        _bar(content),
        "<main>",
        _network(content),
        _groups(content),
        _curve(content),
        _sites(content),
        _variables(content),
        _edges(content),
        _parameters(content),
        _pooled_text(content),
        _warnings(content),
        _origin(content),
        "</main>",
    ]
    data = {key: value for key, value in content.items() if key not in UNSCRIPTED}
    return page_of(str(content["title"]), "\n".join(body), data)


def page_of(title: str, body: str, data: Mapping[str, Any] | None = None) -> str:
    """A page in the report's style: `body` is HTML that is safe, `data` is for the script."""
    here = resources.files(__package__)
    style = (here / "report.css").read_text(encoding="utf-8")
    names = () if data is None else ("report.js", *(("groups.js",) if data.get("groups") else ()))
    script = "".join((here / name).read_text(encoding="utf-8") for name in names)
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title>",
        f"<style>{style}</style></head><body>",
        body,
    ]
    if data is not None:
        parts.append(f'<script type="application/json" id="data">{_inert(data)}</script>')
        parts.append(f"<script>{script}</script>")
    return "\n".join([*parts, "</body></html>"]) + "\n"


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _inert(data: Mapping[str, Any]) -> str:
    """JSON that no name can end the element of."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _section(name: str, title: str, inside: str) -> str:
    return f'<section id="{name}"><h2>{escape(title)}</h2>{inside}</section>'


def _paragraphs(texts: Iterable[str], kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return "".join(f"<p{named}>{escape(text)}</p>" for text in texts)


def _header(content: Mapping[str, Any]) -> str:
    public = "<p class='note'>For the public: no site is named, and edges that fewer than "
    public += f"{content.get('least', 3)} sites have, parameters, warnings, names of files and "
    public += "the command are left out.</p>"
    listed = "".join(
        f"<div><dt>{escape(question)}</dt><dd>{escape(answer)}</dd></div>"
        for question, answer, _ in content["answers"]
    )
    return (
        f"<header><p class='kind'>fedbn report</p><h1>{escape(content['title'])}</h1>"
        f"<dl class='answers'>{listed}</dl>"
        f"{public if content['public'] else ''}{_paragraphs(content['missing'], 'note')}"
        "<noscript><p class='note'>Without JavaScript this page shows the consensus and the first "
        "rows of its tables; nothing can be clicked.</p></noscript></header>"
    )


def _theta(state: Mapping[str, Any]) -> str:
    whole = str(state["theta"]) == str(state["decimal"])
    return str(state["theta"]) if whole else f"{state['theta']} ({number(state['decimal'])})"


def _bar(content: Mapping[str, Any]) -> str:
    """Where the script puts the slider; without a path there is nothing to slide."""
    if not _has_path(content):
        return ""
    return (
        '<div class="bar" id="bar" hidden><label for="slider">Threshold θ</label>'
        '<input type="range" id="slider" min="0" step="1" aria-describedby="state">'
        '<output id="state" for="slider"></output><span id="readings"></span>'
        '<button type="button" id="back">Back to the consensus</button></div>'
    )


def _has_path(content: Mapping[str, Any]) -> bool:
    return sum(len(reading["states"]) for reading in content["readings"]) > 1


def _curve(content: Mapping[str, Any]) -> str:
    if not _has_path(content):
        return _section("curve", "The consensus in figures", _facts(content))
    text = (
        "A small θ keeps edges that few sites have, a large one only those of many. Each point is "
        "a network<span class='hint'>; click one to see it</span>."
    )
    inside = f"{_facts(content)}<p>{text}</p>{curve_svg(content)}"
    return _section("curve", "Distance to the sites over θ", inside)


def _facts(content: Mapping[str, Any]) -> str:
    """The figures of the consensus."""
    reading, state = content["chosen"]
    chosen = content["readings"][reading]["states"][state]
    facts = {
        "Variables": len(content["names"]),
        "Edges": chosen["edges"],
        "Mean SMHD": number(chosen["smhd"]),
        "No network below": number(content["bound"]),
        "θ": _theta(chosen) if chosen["theta"] is not None else "G+" if _has_path(content) else "-",
        "Reading": content["readings"][reading]["reading"],
        "Refused": content.get("n_refused", len(content["refused"])),
    }
    listed = "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(str(v))}</dd></div>"
                     for k, v in facts.items())  # fmt: skip
    return f"<dl class='facts'>{listed}</dl>"


def _network(content: Mapping[str, Any]) -> str:
    gold = any(row[5] for row in content["pairs"])
    tools = (
        '<p class="tools" id="tools" hidden>'
        '<button type="button" id="smaller" aria-label="Smaller">−</button>'
        '<button type="button" id="larger" aria-label="Larger">+</button>'
        '<button type="button" id="fit">Fit the width</button>'
        '<input type="search" id="finder" list="names" aria-label="Find a variable" '
        'placeholder="Find a variable"><datalist id="names"></datalist>'
    )
    if gold:
        tools += '<label><input type="checkbox" id="status"> Compare with the gold network</label>'
    wider = "The wider a line, the more sites have the edge. " if _has_support(content) else ""
    sites = content["sites"] is not None
    choose = f"Choose an edge{', a variable or a site' if sites else ' or a variable'}."
    return _section(
        "network",
        "Network",
        f"<p>{wider}An arrowhead stands only where the direction is determined.</p>"
        f"{_keys(content, gold)}{tools}</p>"
        f'<div class="stage"><div class="drawing" tabindex="0" role="region" '
        f'aria-label="Drawing of the network">{network_svg(content)}</div>'
        f'<aside id="panel" aria-live="polite"><p class="hint">{choose}</p></aside></div>',
    )


def _has_support(content: Mapping[str, Any]) -> bool:
    return any(row[2] is not None for row in content["pairs"])


def _keys(content: Mapping[str, Any], gold: bool) -> str:
    """What the lines of the drawing mean, as far as they can be in it."""
    words = []
    if _has_support(content):
        words += [("few", "few sites"), ("many", "all sites")]
    if content["sites"] is not None:
        words += [("lacks", "chosen site lacks it"), ("beyond", "only at the chosen site")]
    if (content.get("variables") or {}).get("unknown"):
        words.append(("unknown", "not known: no site has both"))
    if gold:
        words += [("true", "as in the gold network"), ("reversed", "other direction"),
                  ("extra", "not in the gold network")]  # fmt: skip
    return legend(words)


def _edges(content: Mapping[str, Any]) -> str:
    columns = ""
    if _has_path(content):
        columns = (
            "<p>Support: share of the sites' structures that join the two variables. Ψ "
            "(criticality): number of edges that must be cut in a site's structure, on average, to "
            "separate the two. Deleted at θ: the smallest threshold at which the network lacks "
            "the edge.</p>"
        )
    return _section("edges", "Edges", f"<p>{ARROWS}</p>{columns}{edge_table(content)}")


def _sites(content: Mapping[str, Any]) -> str:
    if content["sites"] is None:
        return ""
    text = (
        "<p>SMHD: number of pairs of variables that are joined in only one of two moral graphs, "
        "that of the site and that of the network at the slider. A moral graph joins parents of a "
        "common child and drops directions. "
        "<span class='hint'>Choose a site to see where it differs.</span></p>"
    )
    return _section("sites", "Sites", text + site_table(content))


def _groups(content: Mapping[str, Any]) -> str:
    groups = content.get("groups")
    return "" if groups is None else _section("groups", "Groups of sites", groups_section(groups))


def _variables(content: Mapping[str, Any]) -> str:
    if content.get("variables") is None:
        return ""
    return _section("variables", "Who measures what", variables_section(content))


def _parameters(content: Mapping[str, Any]) -> str:
    told = _warning_list(content.get("parameter_remarks") or ())
    if content["parameters"] is None:
        text = "<p>This report has no parameters: they are not known, or were left out.</p>"
        return _section("parameters", "Parameters", text + told)
    text = "<p class='hint'>Choose a variable here or in the drawing.</p>"
    held_back = content.get("held_back") or ()
    if held_back:
        text += (
            "<p class='warning'>Some tables lack the rows of some sites, whose policy holds back "
            "small counts (min-cell): the probabilities of rare states may be too small.</p>"
        ) + page_table(["Variable", "Without the rows of"], held_back)
    not_given = content.get("not_given") or ()
    if not_given:
        items = "".join(f"<li>{escape(words)}</li>" for words in not_given)
        text += (
            "<p class='warning'>Some tables are not known, because no site with all their columns "
            "sent counts. The variables that descend from these have no table either, and no "
            f"question about them has an answer.</p><ul>{items}</ul>"
        )
    text += told
    text += parameter_tables(content) + numbers_section(content.get("numbers") or ())
    return _section("parameters", "Parameters", text)


def _pooled_text(content: Mapping[str, Any]) -> str:
    """What only a simulation knows: a network learned from all rows together."""
    pooled, gold = content.get("pooled"), content["gold"]
    if pooled is None:
        return ""
    texts = [
        "A simulation can also put all rows together, which real sites cannot. GES found a network "
        f"of {count_of(pooled['edges'], 'edge')} from them; its SMHD to the consensus is "
        f"{pooled['smhd']}."
    ]
    if pooled["closed"] is not None:
        texts[0] += (
            " Pooling lowers the SMHD of a site alone to the gold network; the consensus achieves "
            f"{number(100 * pooled['closed'])} % of that."
        )
    table = "" if gold is None else _distances_to(gold)
    return _section("pooled", "What pooling would have given", _paragraphs(texts) + table)


def _distances_to(gold: Mapping[str, Any]) -> str:
    words = {"inputs": "A site alone, on average", "fusion": "Union of the sites' structures",
             "consensus": "The consensus", "pooled": "GES on all rows pooled"}  # fmt: skip
    rows = [[words[key], gold[key]] for key in words if gold[key] is not None]
    return page_table(["Network", "SMHD to gold"], rows)


def _warnings(content: Mapping[str, Any]) -> str:
    if content["public"]:
        return ""
    parts = [_warning_list(content["remarks"])]
    if any(content.get(key) for key in ("held_back", "not_given", "parameter_remarks")):
        parts.append("<p>See also the warnings under <a href='#parameters'>Parameters</a>.</p>")
    if content["refused"]:
        parts.append("<h3>Replies that were not used</h3>")
        parts.append(page_table(["Site", "Reason"], content["refused"]))
    if content["lone_states"]:
        parts.append("<h3>States that one site alone has</h3>")
        parts.append(page_table(["Site", "Column", "State"], content["lone_states"]))
    if content["imputed"]:
        parts.append(
            "<h3>Missing cells that were imputed</h3><p>Imputing is valid if cells are missing at "
            "random: whether a cell is missing may depend on the other cells of its row that are "
            "there, but not on its own value.</p>"
        )
        parts.append(page_table(["Site", "Column", "Share of its cells"], content["imputed"]))
    return _section("warnings", "Warnings", "".join(parts) or "<p>None.</p>")


def _warning_list(texts: Sequence[str]) -> str:
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f"<ul class='warning'>{items}</ul>" if items else ""


def _origin(content: Mapping[str, Any]) -> str:
    parts = []
    if content["command"]:
        parts.append(f"<h3>How to repeat</h3><pre>{escape(content['command'])}</pre>")
    settings = list(content["settings"].items())
    versions = list(content["versions"].items())
    if content["inputs"]:
        rows = [[each["name"], each["sha256"]] for each in content["inputs"]]
        parts.append(f"<h3>Inputs</h3>{page_table(['File', 'SHA-256'], rows)}")
    if content["hashes"]:
        rows = [list(pair) for pair in sorted(content["hashes"].items())]
        parts.append(f"<h3>Results</h3>{page_table(['File', 'SHA-256'], rows)}")
    edges = ("Save the edges of the consensus", "consensus.csv", "text/csv")
    parts.append(_link(*edges, content["consensus"]))
    if content.get("bif") is not None:
        tables = ("Save the consensus with its tables", "consensus.bif", "text/plain")
        parts.append(_link(*tables, content["bif"]))
    parts.append(_details("Settings", ["Setting", "Value"], settings))
    parts.append(_details("Versions", ["Package", "Version"], versions))
    return _section("origin", "Where it comes from", "".join(parts))


def _details(title: str, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    if not rows:
        return ""
    return f"<details><summary>{title}</summary>{page_table(header, rows)}</details>"


def _link(words: str, name: str, kind: str, text: str) -> str:
    data = base64.b64encode(text.encode("utf-8")).decode()
    return (
        f'<p><a download="{name}" href="data:{kind};base64,{data}">{escape(words)} ({name})</a></p>'
    )
