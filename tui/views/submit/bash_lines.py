"""Lines of bash with colours: scheduler directives, keywords, strings, variables, comments."""

from __future__ import annotations

import re

from rowtui.core.base.text import visible
from rowtui.tui.widgets.cells import Line, Span

_TOKENS = re.compile(
    r"(?P<comment>(?:^|(?<=\s))#.*$)"
    r"|(?P<string>\$'(?:\\.|[^'\\])*'|'[^']*'|\"(?:\\.|[^\"\\])*\")"
    r"|(?P<variable>\$\{[^}]*\}|\$[\w@#?*!-]+|^\s*\w+(?=\+?=))"
    r"|(?P<keyword>\b(?:if|then|else|elif|fi|for|in|do|done|while|until|case|esac|function|local"
    r"|export|return|exit|trap|set|unset|shopt|cd|test|source|exec|wait|kill|declare|readonly)\b"
    r"(?![-=]))"
)
_DIRECTIVE = re.compile(r"(#(?:SBATCH|PBS|FLUX|\$)\s+)(-{1,2}[\w-]+)([= ]?)(.*)")


def script_line(text: str) -> Line:
    """Return one line of a shell script; the spans contain the whole line, made visible."""
    shown = visible(text.expandtabs(4))
    if shown.startswith(("#SBATCH", "#!", "#PBS", "#FLUX", "#$")):
        return _directive(shown)
    spans: list[Span] = []
    end = 0
    for match in _TOKENS.finditer(shown):
        if match.start() > end:
            spans.append(Span(shown[end : match.start()]))
        spans.append(Span(match.group(), match.lastgroup or ""))
        end = match.end()
    if end < len(shown):
        spans.append(Span(shown[end:]))
    return tuple(spans)


def _directive(shown: str) -> Line:
    """Return `#SBATCH --time=240` with the value in another style than the constant part."""
    match = _DIRECTIVE.fullmatch(shown)
    if match is None or not match[4]:
        return (Span(shown, "directive"),)
    return (Span(match[1] + match[2] + match[3], "directive"), Span(match[4], "string"))
