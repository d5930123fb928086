"""The report as one HTML document: its style and pictures are in it, and it needs no script."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from rowtui.cli.usage.report_pictures import PATTERNS, pictures
from rowtui.cli.usage.report_text import ReportSource, ReportTable, sentences, tables
from rowtui.core.base.text import carbon, count, hours, money

GENERATOR = '<meta name="generator" content="rowtui">'
_LIGHT = """\
--back: #fff; --text: #1b1f24; --soft: #57606a; --line: #d5dae0; --band: #f4f6f8;
--well: #2b7a3d; --failed: #b3261e; --run: #2a6bb0; --a0: #2a6bb0; --a1: #b35900; --a2: #2b7a3d;
--a3: #8e4a9e; --a4: #8a6d00; --a5: #007a87; --a6: #a8325e; --a7: #5c6670"""
_DARK = """\
--back: #14171a; --text: #e6e8ea; --soft: #a3adb7; --line: #343b42; --band: #1c2125;
--well: #5cb873; --failed: #ff8a80; --run: #6fb1f2; --a0: #6fb1f2; --a1: #f0a35c; --a2: #5cb873;
--a3: #c79ad6; --a4: #d1b545; --a5: #4fc3d0; --a6: #f08cb0; --a7: #a3adb7"""
_ACTIONS = " ".join(f"rect.c{it} {{ fill: var(--a{it}) }}" for it in range(len(PATTERNS)))
_STYLE = f"""\
:root {{ color-scheme: light dark; {_LIGHT} }}
@media (prefers-color-scheme: dark) {{ :root {{ {_DARK} }} }}
* {{ box-sizing: border-box }}
body {{ font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem;
  background: var(--back); color: var(--text) }}
h1 {{ margin: 0 0 .5rem; overflow-wrap: anywhere }} h2 {{ font-size: 1.2rem; margin: 2rem 0 .5rem }}
p {{ margin: .25rem 0; max-width: 46rem; overflow-wrap: anywhere }}
.note {{ color: var(--soft); font-size: .875rem }}
.head {{ color: var(--soft); max-width: none }}
.head span {{ margin-right: 1.25rem; display: inline-block }}
.head b {{ color: var(--text); font-weight: 500; overflow-wrap: anywhere }}
.part {{ border-left: 4px solid var(--failed); padding-left: .75rem; font-weight: 600 }}
dl {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .75rem;
  margin: 1rem 0 }}
dl div {{ background: var(--band); border-radius: .5rem; padding: .5rem .75rem }}
dt {{ color: var(--soft); font-size: .875rem }} dd {{ margin: 0; font-size: 1.35rem }}
dd.bad {{ color: var(--failed) }}
.wide {{ overflow-x: auto }}
table {{ border-collapse: collapse; margin: .25rem 0 .5rem; font-variant-numeric: tabular-nums;
  font-size: .9375rem }}
th, td {{ padding: .3rem .75rem; border-bottom: 1px solid var(--line); white-space: nowrap;
  text-align: right }}
thead th {{ color: var(--soft); font-weight: 600; border-bottom-width: 2px }}
tbody th {{ font-weight: 500 }}
th:first-child, .text {{ text-align: left }} th:first-child {{ padding-left: 0 }}
tbody tr:hover {{ background: var(--band) }}
svg {{ width: 100%; min-width: 800px; max-width: 66rem; height: auto; display: block }}
@media (max-width: 72rem) {{ th, td {{ padding: .3rem .5rem }} }}
svg text {{ fill: currentColor; font-size: 13px }} svg text.soft {{ fill: var(--soft) }}
svg text.name {{ font-weight: 600 }}
svg.mark {{ width: 24px; min-width: 0; height: 12px; display: inline }}
.legend {{ max-width: none }} .legend span {{ margin-right: 1.25rem; white-space: nowrap }}
.over {{ stroke: var(--back); stroke-width: 1.5; fill: none }} {_ACTIONS}
.grid {{ stroke: var(--line); fill: none }}
.limit {{ stroke: var(--failed); stroke-dasharray: 5 3 }}
.whisker {{ stroke: var(--text); fill: none }} .median {{ stroke: var(--text); stroke-width: 3 }}
rect.box {{ fill: var(--band); stroke: var(--text) }}
rect.well {{ fill: var(--well) }} rect.failed, svg text.failed {{ fill: var(--failed) }}
rect.run {{ fill: var(--run) }} .axis {{ stroke: var(--soft); fill: none }}
b.well {{ color: var(--well) }} b.failed {{ color: var(--failed) }}
@media print {{
  :root {{ color-scheme: light; {_LIGHT} }}
  @page {{ margin: 12mm; size: A4 landscape }}
  body {{ margin: 0; max-width: none; font-size: 10pt; padding: 0 }}
  .wide {{ overflow: visible }} svg {{ min-width: 0; max-width: 230mm }}
  table {{ font-size: 8.5pt }} .note, dt {{ font-size: 8.5pt }} dd {{ font-size: 12pt }}
  h1 {{ font-size: 18pt }} h2 {{ font-size: 12pt; margin: 1rem 0 .25rem }}
  dl {{ grid-template-columns: repeat(auto-fit, minmax(30mm, 1fr)) }}
  th, td {{ padding: .15rem .4rem }}
  td.text {{ white-space: normal; overflow-wrap: anywhere }}
  h2, h2 + p, .legend {{ break-after: avoid }} tr, dl, .legend, svg {{ break-inside: avoid }}
}}
"""


def html(source: ReportSource) -> Iterator[str]:
    """Yield the lines of the document."""
    yield "<!DOCTYPE html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield GENERATOR
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{escape(source.name)}: report</title>"
    yield f"<style>\n{_STYLE}</style></head><body><main>"
    yield f"<h1>{escape(source.name)}</h1>"
    head = (f"<span>{name} <b>{escape(text)}</b></span>" for name, text in source.head)
    yield f'<p class="head">{" ".join(head)}</p>'
    summary = list(sentences(source))
    if source.chosen:
        yield f'<p class="part">{escape(summary.pop(0))}</p>'
    yield from _figures(source)
    for sentence in summary:
        yield f"<p>{escape(sentence)}</p>"
    if source.found.total is not None:
        yield from pictures(source.found)
    for table in tables(source):
        yield f"<h2>{escape(table.title)}</h2>"
        yield from _table(table)
    yield "</main></body></html>"


def _figures(source: ReportSource) -> Iterator[str]:
    """Yield the numbers that a reader looks for first."""
    total = source.found.total
    if total is None:
        return
    failed = ("Failed", count(total.failed), "bad" if total.failed else "")
    shown = [("Jobs", count(total.jobs), ""), failed]
    shown.append(("CPU-hours charged", hours(total.charged_cpu_hours), ""))
    if total.cpu_share is not None:
        shown.append(("CPU-hours used", f"{total.cpu_share:.0%}", ""))
    if total.charged_gpu_hours:
        shown.append(("GPU-hours charged", hours(total.charged_gpu_hours), ""))
    if total.gpu_share is not None:
        shown.append(("GPU-hours used", f"{total.gpu_share:.0%}", ""))
    shown += (("Money charged", money(it.charged, it.currency), "") for it in total.money)
    if total.carbon_g is not None:
        shown.append(("CO2e, estimated", carbon(total.carbon_g).removesuffix(" CO2e"), ""))
    yield "<dl>"
    for name, value, kind in shown:
        yield f'<div><dt>{name}</dt><dd class="{kind}">{escape(value)}</dd></div>'
    yield "</dl>"


def _table(table: ReportTable) -> Iterator[str]:
    yield f'<div class="wide" tabindex="0" role="region" aria-label="{escape(table.title)}"><table>'
    cells = "".join(
        f'<th scope="col"{_kind(at, table)}>{escape(one)}</th>'
        for at, one in enumerate(table.headings)
    )
    yield f"<thead><tr>{cells}</tr></thead><tbody>"
    for first, *rest in table.rows:
        others = "".join(
            f"<td{_kind(at, table)}>{escape(cell)}</td>" for at, cell in enumerate(rest, 1)
        )
        yield f'<tr><th scope="row">{escape(first)}</th>{others}</tr>'
    yield "</tbody></table></div>"
    if table.note:
        yield f'<p class="note">{escape(table.note)}</p>'


def _kind(at: int, table: ReportTable) -> str:
    return ' class="text"' if 0 < at < table.texts else ""
