"""The files of a directory, from Groups on a real project with real files of every kind."""

from __future__ import annotations

import json
import os
import re
import struct
import sys
import zlib
from pathlib import Path

import pytest
from PIL import Image

from tests.tui.test_real_network import opened

WORKFLOW = """\
[workspace]
value_file = "v.json"

[[action]]
name = "simulate"
command = "true {directory}"
products = ["energy.csv", "rdf.json", "plot.png", "never.gsd"]
"""
GIB = 1 << 30


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "project"
    folder = root / "workspace" / "d0"
    (folder / "frames").mkdir(parents=True)
    (root / "workflow.toml").write_text(WORKFLOW)
    (folder / "v.json").write_text('{"T": 1}')
    rows = "".join(f"{step},{-5 - step / 1000}\n" for step in range(1500))
    (folder / "energy.csv").write_text(f"step,energy\n{rows}")
    (folder / "rdf.json").write_text(json.dumps({"code": "lj\x1b[2J", "bins": [1.5, 2]}))
    Image.new("RGBA", (60, 30), (200, 0, 0, 255)).save(folder / "plot.png")
    (folder / "traj.gsd").write_bytes(b"GSD\0\x1b[2J")
    (folder / "bad\x1b[31m.txt").write_text("a\x1b[2Jb\n")
    (folder / "frames" / "f0.txt").write_text("the first frame\n")
    os.mkfifo(folder / "pipe")
    monkeypatch.setenv("ROWTUI_LOCAL_DIR", str(tmp_path / "queue"))
    return root


def bomb(side: int) -> bytes:
    """A picture of a few bytes that states `side` squared pixels."""
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(b"\0" * 100)), (b"IEND", b""))
    chunks = (
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


async def test_every_kind_of_file_is_shown_beside_the_list(root: Path) -> None:
    (root / "workspace/d0/bomb.png").write_bytes(bomb(100_000))
    async with opened(root) as hand:
        await hand.sees("local ●")
        await hand.press("2")
        await hand.sees("Directories of group 1", "› d0")
        await hand.press("enter", "enter")
        await hand.sees(
            "Files of d0", "9 entries", "product", "frames/",
            "bad\\x1b[31m.txt", "-5.001", "the first 1,000 rows",
        )  # fmt: skip
        await hand.press("enter", "slash", *"energy<-5.99")
        await hand.sees("9 of 1,000")
        await hand.press("enter", "escape")
        await hand.sees_no("9 of 1,000")
        await hand.press("escape", "down")
        await hand.sees('"code": "lj\\u001b[2J",', '"bins": [1.5, 2]')
        await hand.press("enter", "i")
        await hand.sees('{"code": "lj\\u001b[2J", "bins"', "1 line")
        await hand.press("slash", *"bins", "enter")
        await hand.sees("find 'bins'")
        await hand.press("escape", "i")
        await hand.sees('"bins": [1.5, 2]', "written ")
        assert re.search(r"written (now|\d+ s ago)", hand.text())
        await hand.press("tab", "down")
        await hand.sees("▀▀▀")
        await hand.press(*["down"] * 2)
        await hand.sees("a\\x1b[2Jb")
        await hand.press("down")
        await hand.sees("100,000 x 100,000 pixels: only 40 million pixels are shown")
        await hand.press("down")
        await hand.sees("this is not a file that can be read")
        await hand.press("down")
        await hand.sees("47 53 44 00 1b 5b 32 4a", "no text: the first 8 bytes of it")
        assert "\x1b" not in hand.text()
        await hand.press(*["up"] * 4, "enter")
        await hand.sees("Files of d0/frames", "the first frame", "1 entry")
        await hand.press("escape")
        await hand.sees("9 entries")
        await hand.press("escape")
        await hand.sees("Directories of group 1")
        await hand.press("colon", *"files", "enter")
        await hand.sees("Files of d0")
        await hand.press("q", "1", "colon", *"files", "enter")
        await hand.sees("The cursor is on no directory")


async def test_ten_gigabytes_open_at_their_end_and_are_searched(root: Path) -> None:
    with (root / "workspace/d0/a.log").open("wb") as log:
        log.write(b"the beginning\n")
        log.seek(10 * GIB)
        log.write(b"".join(b"step %d\n" % step for step in range(30_000)) + b"the end\n")
    (root / "workspace/d0/b.txt").write_bytes(b"".join(b"row %d\n" % at for at in range(90_000)))
    async with opened(root, (80, 24)) as hand:
        await hand.sees("local ●")
        await hand.press("2", "d")
        await hand.sees("Directories of simulate", "›  d0")
        await hand.press("enter")
        await hand.sees("Files of d0", "11 GB")
        await hand.press("slash", *"a.log", "enter", "enter")
        await hand.sees("step 29999", "the end", "following the end", "g: all")
        assert "Files of d0" not in hand.text()
        await hand.press("slash", *"step 15000", "enter")
        await hand.sees("step 15000")
        await hand.press("escape", "escape", "escape", "slash", *"b.txt", "enter", "enter")
        await hand.sees("row 0", "90,000 lines")


async def test_what_cannot_be_shown_has_a_sentence(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    async with opened(root) as hand:
        await hand.sees("local ●")
        await hand.press("2", "d")
        await hand.sees("Directories of simulate", "›  d0")
        await hand.press("enter")
        await hand.sees("frames/")
        await hand.press("down", "down")
        await hand.sees("pictures need the package Pillow", "pip install 'rowtui[images]'")
        (root / "workspace/d0/frames").rename(root / "moved")
        await hand.press("down", "enter")
        await hand.sees("this directory cannot be listed: No such file or directory")
        await hand.press("escape")
        await hand.sees("7 entries")
