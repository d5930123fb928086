"""`rowtui mapping schema`: the JSON schema of mapping files, for editors."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output.output import Output


def run(_args: argparse.Namespace, out: Output) -> int:
    """Print the schema."""
    from rowtui.core.mapping.files.schema import mapping_schema

    out.print(json.dumps(mapping_schema(), indent=2))
    return 0
