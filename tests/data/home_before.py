"""Makes `home_before.tar.xz`: a project and its home, as an earlier version leaves them.

    <checkout>/.venv/bin/python tests/data/home_before.py <checkout>

The checkout is one of that version, set up by `make setup`. Nothing is written there. The home is
made in MADE_AT, where its tables stay: paths in it are absolute.
"""

from __future__ import annotations

import io
import json
import lzma
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

MADE_AT = Path("/tmp/alluvium-before")
ARCHIVE = Path(__file__).with_suffix(".tar.xz")
BRANCH = "fix"
# The file whose batch a restore leaves out of `orders` for good.
SKIPPED = 3
STORAGE = ("run", "--select", "alluvium.storage", "--vars", "{alluvium_storage: true}")
_EVENT = "order_id bigint, version bigint, region string, ordered_at timestamp, op string"
_SELECT = f"""select o.*, _batch_after, _batch_through
from {{{{ alluvium.new_events(ref('orders_events'), '%s') }}}}
lateral view inline(array(from_json(_value, '{_EVENT}'))) o
"""
_MERGED = "materialized='incremental', unique_key='order_id'"
_WAP = f"""{{{{ config(
    {_MERGED},
    tblproperties={{'delta.checkpointInterval': '4'}},
    meta={{
        'alluvium_merge': {{
            'order_by': 'version', 'delete_when': "op = 'd'", 'ranges': {{'column': 'ordered_at'}}
        }},
        'alluvium_layout': {{'sort_by': ['region', 'ordered_at'], 'target_rows': 8, 'fan_in': 2,
                            'index': ['region']}},
    }},
    post_hook='{{{{ alluvium.compact(this) }}}}',
) }}}}
"""
_TOTALS = f"""{{{{ config(
    {_MERGED},
    meta={{'alluvium_merge': {{
        'order_by': 'version', 'delete_when': "op = 'd'", 'delete': 'hard'
    }}}},
) }}}}
"""
PROJECT = {
    "dbt_project.yml": """name: shop
version: '1.0'
profile: p
flags: {send_anonymous_usage_stats: false}
""",
    "profiles.yml": f"""p:
  target: dev
  outputs:
    dev: {{type: alluvium, schema: shop, threads: 1}}
    {BRANCH}: {{type: alluvium, schema: shop__{BRANCH}, threads: 1}}
""",
    "packages.yml": "packages: [{local: \"{{ env_var('ALLUVIUM_PACKAGE') }}\"}]\n",
    "models/_models.yml": """sources:
  - name: landing
    tables:
      - name: orders
        config:
          meta:
            alluvium_stream: {format: json, path: landing/orders, max_files_per_trigger: 1}
models:
  - name: orders_wap
    columns:
      - name: order_id
        data_tests: [unique, not_null]
""",
    "models/orders_events.sql": """{{ config(materialized='streaming_table') }}
select * from {{ source('landing', 'orders') }}
""",
    "models/orders_wap.sql": _WAP + _SELECT % "orders_wap",
    "models/orders.sql": """{{ config(materialized='published') }}
select * from {{ ref('orders_wap') }}
""",
    "models/totals.sql": _TOTALS + _SELECT % "totals",
}


def events(number: int) -> list[dict[str, Any]]:
    """What the file of this number holds: of ten keys a newer version, or their end."""
    return [
        {
            "order_id": key,
            "version": number,
            "region": "nsew"[key % 4],
            "ordered_at": f"2024-01-0{1 + key % 5}T00:00:00Z",
            "op": "d" if (key + number) % 7 == 0 else "u",
        }
        for key in range(number, number + 10)
    ]


def land(root: Path, number: int) -> None:
    """Land the file of this number."""
    folder = root / "landing/orders"
    folder.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(one) + "\n" for one in events(number))
    (folder / f"{number}.json").write_text(lines)


def _make(root: Path) -> None:
    from dbt.cli.main import dbtRunner
    from deltalake import DeltaTable

    folders = ["--project-dir", str(root), "--profiles-dir", str(root)]

    def dbt(*args: str) -> None:
        done = dbtRunner().invoke([*args, *folders])
        if not done.success:
            raise SystemExit(f"dbt {' '.join(args)} failed: {done.exception or ''}")

    def operate(operation: str, **given: Any) -> None:
        dbt("run-operation", f"alluvium.{operation}", "--args", json.dumps(given))

    dbt("deps")
    for number in (1, 2):
        land(root, number)
        dbt("build")
    operate("tag", model="orders_wap", name="accepted", message="as of file 2")
    land(root, SKIPPED)
    dbt("build")
    bronze = DeltaTable(root / ".alluvium/warehouse/shop.db/orders_events")
    newest = max(bronze.to_pyarrow_table(columns=["_batch_id"])["_batch_id"].to_pylist())
    operate("restore", model="orders_wap", before_batch=newest, skip=True)
    land(root, 4)
    dbt("build")
    operate("branch", name=BRANCH, models=["orders_wap", "orders"])
    # The branch goes on alone.
    dbt("compile")
    shutil.copytree(root / "target", root / "state")
    land(root, 5)
    dbt("run", "--select", "orders_events")
    of_branch = ("--target", BRANCH, "--defer", "--state", str(root / "state"))
    dbt("build", "--select", "orders_wap", *of_branch)
    dbt(*STORAGE)


def _pack(root: Path) -> None:
    left_out = {"jars", "scratch", "lock", "target", "state", "logs", "dbt_packages"}

    def kept(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        path = Path(member.name)
        of_hadoop = path.name.startswith(".") and path.suffix == ".crc"
        return None if of_hadoop or left_out & set(path.parts) else member

    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(root, root.name, filter=kept)
    small = lzma.compress(packed.getvalue(), preset=9 | lzma.PRESET_EXTREME)
    ARCHIVE.write_bytes(small)
    print(f"{ARCHIVE.name}: {len(small):,} bytes")


def main() -> None:
    checkout = Path(sys.argv[1]).resolve()
    if sys.argv[2:]:
        _make(MADE_AT)
        return
    shutil.rmtree(MADE_AT, ignore_errors=True)
    for name, text in PROJECT.items():
        (MADE_AT / name).parent.mkdir(parents=True, exist_ok=True)
        (MADE_AT / name).write_text(text)
    shutil.copytree(checkout / ".alluvium/jars", MADE_AT / ".alluvium/jars")
    # A process of its own: its end closes the metastore.
    environ = os.environ | {"ALLUVIUM_PACKAGE": str(checkout), "DBT_PROFILES_DIR": str(MADE_AT)}
    command = [sys.executable, __file__, str(checkout), "make"]
    subprocess.run(command, cwd=MADE_AT, env=environ, check=True)
    _pack(MADE_AT)


if __name__ == "__main__":
    main()
