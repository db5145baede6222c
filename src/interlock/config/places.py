"""Where the configuration and the data of a user are found: the option, the variable, the usual places.

Apart from reading the configuration itself, so that a command which only needs the folder starts at once.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from platformdirs import user_config_path, user_data_path

FILE_NAME = "interlock.yaml"


def find_file(explicit: str | None, environ: Mapping[str, str]) -> Path | None:
    """The file to read: the option, INTERLOCK_CONFIG, the working directory, the user's config folder; or none."""
    named = environ.get("INTERLOCK_CONFIG") or None if explicit is None else explicit
    if named is not None:
        return Path(named)
    places = (Path(FILE_NAME), user_config_path("interlock") / FILE_NAME)
    # A broken link or a folder of that name is a mistake to be told, not a reason to start with the defaults.
    return next((place for place in places if os.path.lexists(place)), None)


def data_dir(explicit: str | None, environ: Mapping[str, str]) -> Path:
    """The folder that holds the database and the operator's credential."""
    named = explicit or environ.get("INTERLOCK_DATA_DIR")
    return Path(named) if named else user_data_path("interlock")
