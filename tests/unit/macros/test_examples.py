"""Each operation and data test has an example that shows all of its arguments."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from support.rendered import MACROS


@pytest.mark.parametrize(("kind", "prefix"), [("operation", ""), ("test", "test_")])
def test_examples_show_all_arguments(macros: Any, kind: str, prefix: str) -> None:
    docs = {
        macro["name"]: macro
        for path in MACROS.rglob("*.yml")
        for macro in yaml.safe_load(path.read_text())["macros"]
    }
    for name, schema in macros.settings_schema()[kind].items():
        doc = docs[prefix + name]
        # dbt itself gives a test its column.
        arguments = set(schema["properties"]) - {"column_name"}
        assert arguments <= {argument["name"] for argument in doc.get("arguments", [])}, name
        shown = {found for found in arguments if re.search(rf"\b{found}: ", doc["description"])}
        assert shown == arguments, name
