"""Make outside text safe to show, and format numbers as Row prints them."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable


def has_control(text: str) -> bool:
    """Whether a text has an ASCII control character, such as the end of a line."""
    return any(ord(char) < 0x20 or ord(char) == 0x7F for char in text)


def visible(text: str) -> str:
    r"""Make control characters and undecodable bytes visible, so that no text controls a terminal.

    A newline becomes `\n`, ESC `\x1b`, a lone surrogate from `os.fsdecode` `\xff`, a bidirectional
    override `\u202e`. Ordinary text is returned unchanged.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_visible(char) for char in text)


_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def _visible(char: str) -> str:
    if char.isprintable():
        return char
    if char in _SHORT:
        return _SHORT[char]
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # os.fsdecode's surrogateescape: a byte that is not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def count(number: int) -> str:
    """Return a count with thousands commas."""
    return f"{number:,}"


def plural(number: int, noun: str, nouns: str = "") -> str:
    """Return a text such as `1 job` or `2,000 jobs`."""
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"


_LARGE = ("", "k", "M", "G", "T", "P", "E", "Z", "Y")


def si(value: float) -> str:
    """Format a number from 1 on, without decimals and with an SI suffix, as Row 1.x prints costs.

    The number is scaled by 1000 until it is in [1, 1000), then rounded half to even, hence `2` for
    2.5. A smaller number has no suffix. Source: Row 1.1's own output.
    """
    step = 0
    while value >= 1000 and step < len(_LARGE) - 1:
        value /= 1000
        step += 1
    return f"{value:.0f}{_LARGE[step]}"


def hours(value: float) -> str:
    """Format CPU-hours or GPU-hours: `4k`, `461`, `2.5`, `0.17`; `<0.01` for some seconds.

    There is no suffix for thousandths: `167m` reads as 167 million, or as minutes.
    """
    if value >= 9.95:
        return si(value)
    if 0 < value < 0.01:
        return "<0.01"
    decimals = 1 if value >= 0.995 else 2
    return f"{value:.{decimals}f}".rstrip("0").rstrip(".")


def file_size(size: int) -> str:
    """Return a size such as `12 B` or `3.4 MB`."""
    if size < 1000:
        return f"{size} B"
    scaled = float(size)
    for unit in ("kB", "MB", "GB", "TB"):
        scaled /= 1000
        if scaled < 999.95:
            return f"{scaled:.1f} {unit}"
    return f"{scaled / 1000:,.1f} PB"


class CostJson(NamedTuple):
    """What jobs cost at most. `price` is in `currency`; null where no prices are known."""

    cpu_hours: float
    gpu_hours: float
    price: float | None = None
    currency: str | None = None


class Cost(NamedTuple):
    """What jobs may cost at most, from what they ask for. Units: hours of one CPU or GPU."""

    cpu_hours: float = 0.0
    gpu_hours: float = 0.0

    def plus(self, other: Cost) -> Cost:
        """Return the sum of two costs."""
        return Cost(self.cpu_hours + other.cpu_hours, self.gpu_hours + other.gpu_hours)

    @classmethod
    def total(cls, costs: Iterable[Cost]) -> Cost:
        """Return the sum of any number of costs."""
        found = list(costs)
        return cls(math.fsum(it.cpu_hours for it in found), math.fsum(it.gpu_hours for it in found))

    def times(self, number: float) -> Cost:
        """Return this cost times a number."""
        return Cost(self.cpu_hours * number, self.gpu_hours * number)

    def priced(self, price: float | None, currency: str) -> CostJson:
        """Return the cost with its price where that is known, for documents."""
        unit = currency or None
        return CostJson(self.cpu_hours, self.gpu_hours, price, None if price is None else unit)

    def as_document(self) -> CostJson:
        """Return the cost without a price."""
        return CostJson(self.cpu_hours, self.gpu_hours)

    def __bool__(self) -> bool:
        """Whether the cost is not zero."""
        return self.cpu_hours > 0 or self.gpu_hours > 0

    def __str__(self) -> str:
        """Return Row's form, `4k CPU-hours and 12 GPU-hours`, with decimals for small amounts."""
        cpu = f"{hours(self.cpu_hours)} CPU-hours"
        gpu = f"{hours(self.gpu_hours)} GPU-hours"
        if self.gpu_hours > 0 and self.cpu_hours > 0:
            return f"{cpu} and {gpu}"
        return gpu if self.gpu_hours > 0 else cpu


def full_cost(cost: Cost) -> str:
    """Return a cost with two decimals, `16.67 GPU-hours`, so that parts add up to their total."""
    cpu = f"{cost.cpu_hours:,.2f} CPU-hours"
    gpu = f"{cost.gpu_hours:,.2f} GPU-hours"
    if cost.gpu_hours > 0 and cost.cpu_hours > 0:
        return f"{cpu} and {gpu}"
    return gpu if cost.gpu_hours > 0 else cpu


def memory(megabytes: float) -> str:
    """Return an amount such as `500 MB` or `1.5 GB`: MB are 2^20 bytes, GB 2^30."""
    if megabytes < 1024:
        return f"{megabytes:,.0f} MB"
    return f"{megabytes / 1024:,.1f}".removesuffix(".0") + " GB"


def money(amount: float, currency: str) -> str:
    """Return money with two decimals, `1,234.50 EUR`, so that parts add up to their total.

    Prices without a currency are `in an unknown currency`.
    """
    shown = "<0.01" if 0 < amount < 0.005 else f"{amount:,.2f}"
    return f"{shown} {visible(currency) if currency else 'in an unknown currency'}"


def price(cost: float) -> str:
    """Return a cost without its unit: `12,300`, `12.30`, `0.0042`."""
    if cost >= 1000:
        return f"{cost:,.0f}"
    if cost >= 0.1 or not cost:
        return f"{cost:.2f}"
    return f"{cost:.4f}" if cost >= 0.0001 else "<0.0001"


def priced(cost: float, unit: str) -> str:
    """Return a cost with its unit: `12.30 EUR`, `410.00 CPU-hours`; without one if unknown."""
    return f"{price(cost)} {visible(unit)}".rstrip()


def energy(kilowatt_hours: float) -> str:
    """Return an energy such as `340 Wh`, `1.2 kWh` or `15 MWh`."""
    return _scaled(kilowatt_hours * 1000, ("Wh", "kWh", "MWh", "GWh"))


def carbon(grams: float) -> str:
    """Return a mass of greenhouse gases such as `56 g CO2e`, `1.2 kg CO2e` or `3 t CO2e`."""
    return f"{_scaled(grams, ('g', 'kg', 't', 'kt'))} CO2e"


def _scaled(value: float, units: tuple[str, ...]) -> str:
    step = 0
    while value >= 999.5 and step < len(units) - 1:
        value /= 1000
        step += 1
    if 0 < value < 0.01:
        return f"<0.01 {units[step]}"
    decimals = 0 if value >= 99.5 else 1 if value >= 9.95 else 2
    text = f"{value:,.{decimals}f}"
    return f"{text.rstrip('0').rstrip('.') if decimals else text} {units[step]}"


_HEADER_PLAIN = frozenset(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+,./:@%=^~()[]{}*?!&|;<>-"
)


def header_value(text: str) -> str:
    """Return the value of an option in a batch header: unquoted as in Row, else in double quotes.

    Control characters and bytes that are not UTF-8 are made visible, because the header consists of
    lines. sbatch splits header lines at spaces and interprets quotes and backslashes.
    """
    shown = visible(text)
    if _HEADER_PLAIN.issuperset(shown):
        return shown
    escaped = shown.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def similar(word: str, known: Iterable[str], most: int = 1, ratio: float = 0.6) -> list[str]:
    """Return the known words that may be meant, the most similar first. `ratio`: of `difflib`."""
    import difflib

    return difflib.get_close_matches(word, list(known), most, ratio)


def time_text(at: float) -> str:
    """Return a time as local text, `Sun 2026-11-22 18:00`."""
    return time.strftime("%a %Y-%m-%d %H:%M", time.localtime(at))


NEARLY = 1e-9  # rounding errors of sums below this are not shown


def amount(number: float) -> str:
    """Format an amount with thousands commas and significant decimals: 1,234 or 0.25."""
    if abs(number) < NEARLY:
        return "0"
    if number < 0:
        return f"-{amount(-number)}"
    if number >= 100 or number == int(number):
        return f"{math.ceil(number - NEARLY):,}"
    if number >= 0.01:
        return f"{number:.2f}"
    return f"{number:.2g}" if number >= 0.0001 else "<0.0001"


def in_words(hours: float) -> str:
    """Return `40 min`, `12 h 30 min`, `2 d 7 h`."""
    minutes = max(1, round(hours * 60))
    if minutes < 60:
        return f"{minutes} min"
    if minutes < 48 * 60:
        return f"{minutes // 60} h" + (f" {minutes % 60} min" if minutes % 60 else "")
    days, rest = divmod(round(hours), 24)
    return f"{days:,} d" + (f" {rest} h" if rest else "")


def is_utf8(encoding: str) -> bool:
    """Whether this is a name of UTF-8."""
    return encoding.lower().replace("-", "") == "utf8"
