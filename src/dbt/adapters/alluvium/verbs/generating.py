"""The first models of a feed, from a sample of bronze."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from dbt.adapters.base import available

from alluvium.plan import feeds
from dbt.adapters.alluvium.handle import mistakes
from dbt.adapters.alluvium.verbs.base import SessionAdapter


class Generating(SessionAdapter):
    @available.parse_list
    def generate_feed(
        self, unique_id: str, name: str, key: Sequence[str], values: Sequence[str], write: bool
    ) -> list[str]:
        """The files of a feed over a bronze model, as lines.

        Args:
            name: The merged model.
            key: Columns of the source's key.
            values: Events of bronze.
            write: Write them beside the bronze model; a file that is there is never touched.

        Raises:
            DbtRuntimeError: The events are no JSON, lack the key, or are of several tables of
                which none has the name; or a file is there already.
        """
        node = self.nodes[unique_id]
        folder = Path(node.original_file_path).parent
        with mistakes("alluvium.generate_feed"):
            made = feeds.generate(name, key, feeds.look(values, name), node.name)
            files = {folder / file: text for file, text in made.items()}
            if write:
                _write(Path(self.config.project_root), files)
        return list(_lines(files, write))


def _write(root: Path, files: dict[Path, str]) -> None:
    """Write new files.

    Raises:
        ValueError: One of them is there. Nothing is written then.
    """
    there = [str(file) for file in files if (root / file).exists()]
    if there:
        raise ValueError(f"write: {', '.join(there)} is there already; accepted: new files only")
    for file, text in files.items():
        with (root / file).open("x") as new:
            new.write(text)


def _lines(files: dict[Path, str], written: bool) -> Iterator[str]:
    for file, text in files.items():
        yield f"{'wrote ' if written else ''}{file}"
        if not written:
            yield from text.splitlines()
            yield ""
