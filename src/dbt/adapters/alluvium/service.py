"""The engine of a profile as a service, which dbt's commands attach to."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from pathlib import Path

from dbt.cli.resolvers import default_profiles_dir, default_project_dir
from dbt.config.runtime import load_profile
from dbt.flags import set_from_args
from dbt_common.context import set_invocation_context
from dbt_common.exceptions import DbtBaseException

from alluvium.engine import EngineError
from alluvium.engine import session as engine
from alluvium.engine.properties import as_text
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
        root, creds = _credentials(project_dir, profiles_dir, profile, target)
        if not creds.warm_seconds:
            raise EngineError(
                "The target keeps no engine: its commands would end this one. Accepted: `engine:"
                " {keep_warm: 15 minutes}` in the profile"
            )
        creds.home = str((root / creds.home).resolve())
        clock.use_utc()
        settings = AlluviumConnectionManager.settings(creds)
        return engine.serve(settings, lambda line: print(line, flush=True))
    except (DbtBaseException, EngineError, OSError) as error:
        print(f"alluvium: {error}", file=sys.stderr)
        return 2


def spark_conf(project_dir: Path, target: str | None) -> dict[str, str]:
    """Spark's properties of a target, as the profile gives them.

    Raises:
        ValueError: the profile cannot be read.
    """
    try:
        return as_text(_credentials(project_dir, None, None, target)[1].spark_conf)
    except (DbtBaseException, EngineError, OSError) as error:
        said = " ".join(str(error).split())
        raise ValueError(f"target {target} of the profile cannot be read: {said}") from error


def _credentials(
    project_dir: Path | None, profiles_dir: Path | None, profile: str | None, target: str | None
) -> tuple[Path, AlluviumCredentials]:
    """The folder of the project, and what its profile says."""
    root = Path(project_dir or os.environ.get("DBT_PROJECT_DIR") or default_project_dir()).resolve()
    profiles = profiles_dir or os.environ.get("DBT_PROFILES_DIR") or default_profiles_dir()
    # As a command of dbt does: `env_var` reads what is noted here.
    set_invocation_context(os.environ)
    set_from_args(Namespace(project_dir=str(root), profiles_dir=str(profiles)), None)
    creds = load_profile(str(root), {}, profile, target).credentials
    if not isinstance(creds, AlluviumCredentials):
        raise EngineError(f"The target is of type {creds.type}; accepted: alluvium")
    return root, creds
