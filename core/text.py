"""Text from outside made safe to show, and numbers as Row prints them."""

from __future__ import annotations

from typing import NamedTuple


def visible(text: str) -> str:
    r"""Make control characters and undecodable bytes visible, so that nothing steers a terminal.

    A newline becomes `\n`, ESC `\x1b`, a lone surrogate from `os.fsdecode` `\xff`, a
    bidirectional override `\u202e`. Ordinary text comes back as it is.
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
    """A count with thousands commas."""
    return f"{number:,}"


def plural(number: int, noun: str, nouns: str = "") -> str:
    """`1 job`, `2,000 jobs`."""
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"


_SI = ("", "K", "M", "G", "T", "P", "E", "Z", "Y")


def si(value: float) -> str:
    """A number without decimals and with an SI suffix, as Row scales its costs.

    Divided by 1000 while it is at least 1000, then rounded half to even, hence `1000` for 999.6.
    Source: Row A4.3.
    """
    step = 0
    while value >= 1000 and step < len(_SI) - 1:
        value /= 1000
        step += 1
    return f"{value:.0f}{_SI[step]}"


class Cost(NamedTuple):
    """What jobs may cost at most, from what they ask for. Units: hours of one CPU or GPU."""

    cpu_hours: float = 0.0
    gpu_hours: float = 0.0

    def plus(self, other: Cost) -> Cost:
        """The sum of two costs."""
        return Cost(self.cpu_hours + other.cpu_hours, self.gpu_hours + other.gpu_hours)

    def __bool__(self) -> bool:
        """Whether it costs anything."""
        return self.cpu_hours > 0 or self.gpu_hours > 0

    def __str__(self) -> str:
        """Row's form, `4K CPU-hours and 12 GPU-hours`."""
        cpu = f"{si(self.cpu_hours)} CPU-hours"
        gpu = f"{si(self.gpu_hours)} GPU-hours"
        if self.gpu_hours > 0 and self.cpu_hours > 0:
            return f"{cpu} and {gpu}"
        return gpu if self.gpu_hours > 0 else cpu
