"""What only a clone has: the command `alluvium-replay`, beside the feeds' replayers and data."""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class EditableScripts(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Give an editable install its command; the wheel has neither it nor `alluvium.demo`."""
        if version == "editable":
            build_data["shared_scripts"]["scripts/alluvium-replay"] = "alluvium-replay"
