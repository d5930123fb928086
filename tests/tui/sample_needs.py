"""What the sample project needs of a person: failures by cause, files that nobody trusted yet."""

from __future__ import annotations

from collections import Counter

from rowtui.core.base.errors import RowtuiError
from rowtui.core.project.views.mapping_trust import MappingReview, UntrustedFile
from rowtui.core.project.views.needs import FailureCause

MAPPING_FILE = UntrustedFile("mapping.yml", "/home/someone/lj-fluid/mapping.yml")
TEXT = (
    "tools:",
    "  sample:",
    "    cores: 32",
    "    mem: cores * 3.8",
    "    rules:",
    "      - if: len(directories) > 4",
    "        cores: 64",
)


class SampleNeeds:
    """The part of the sample engine that `Snapshot.failures` and trust come from."""

    failed: dict[str, dict[str, str]]

    def __init__(self) -> None:
        super().__init__()
        self.untrusted: list[UntrustedFile] = []
        self.trusted_now: list[str] = []

    def failure_causes(self) -> tuple[FailureCause, ...]:
        found = []
        for index, reasons in enumerate(self.failed.values()):
            for cause, count in Counter(reasons.values()).most_common():
                found.append(FailureCause(index, cause, count, 1))
        return tuple(found)

    async def mapping_file(self, place: str) -> MappingReview:
        for one in self.untrusted:
            if one.place == place:
                return MappingReview(one.name, one.place, "5" * 64, TEXT)
        raise RowtuiError(f"there is no mapping file {place} any more")

    async def mapping_trust(self, place: str, digest: str) -> None:
        assert digest == "5" * 64
        self.trusted_now.append(place)
        self.untrusted = [one for one in self.untrusted if one.place != place]
