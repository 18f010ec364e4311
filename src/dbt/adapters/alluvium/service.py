"""The engine of a profile as a service, which dbt's commands attach to."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from pathlib import Path

from dbt.cli.resolvers import default_profiles_dir, default_project_dir
from dbt.config.runtime import load_profile
from dbt.flags import set_from_args
from dbt_common.exceptions import DbtBaseException

from alluvium.engine import EngineError
from alluvium.engine import session as engine
from dbt.adapters.alluvium import clock
from dbt.adapters.alluvium.connections import AlluviumConnectionManager
from dbt.adapters.alluvium.credentials import AlluviumCredentials


def serve(
    project_dir: Path | None, profiles_dir: Path | None, profile: str | None, target: str | None
) -> int:
    """Start the engine, and wait until it ends.

    Args:
        project_dir, profiles_dir, profile, target: as dbt's options of these names.

    Returns:
        The exit status: 0 where it was asked to end, 1 where it ended, 2 where it did not start.
    """
    try:
        settings = _settings(project_dir, profiles_dir, profile, target)
        clock.use_utc()
        return engine.serve(settings, lambda line: print(line, flush=True))
    except (DbtBaseException, EngineError, OSError) as error:
        print(f"alluvium: {error}", file=sys.stderr)
        return 2


def _settings(
    project_dir: Path | None, profiles_dir: Path | None, profile: str | None, target: str | None
) -> engine.Settings:
    root = Path(project_dir or os.environ.get("DBT_PROJECT_DIR") or default_project_dir()).resolve()
    profiles = profiles_dir or os.environ.get("DBT_PROFILES_DIR") or default_profiles_dir()
    set_from_args(Namespace(project_dir=str(root), profiles_dir=str(profiles)), None)
    creds = load_profile(str(root), {}, profile, target).credentials
    if not isinstance(creds, AlluviumCredentials):
        raise EngineError(f"The target is of type {creds.type}; accepted: alluvium")
    if not creds.warm_seconds:
        raise EngineError(
            "The target keeps no engine: its commands would end this one. Accepted: `engine:"
            " {keep_warm: 15 minutes}` in the profile"
        )
    creds.home = str((root / creds.home).resolve())
    return AlluviumConnectionManager.settings(creds)
