"""`--dump-regions`: what backends have of a model, as folders that `inarch verify` runs again."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from inarch.core.errors import EnvironmentFault

if TYPE_CHECKING:
    from inarch.driver.options import Options


def add_dump_option(parser: argparse.ArgumentParser) -> None:
    """`--dump-regions`: what backends have of the model, to be run again."""
    parser.add_argument(
        "--dump-regions",
        type=Path,
        metavar="FOLDER",
        help="write each region of a backend as a folder: program, inputs, what it must give; "
        "`inarch verify FOLDER/REGION` runs it again",
    )


def check_dump_folder(folder: Path | None) -> None:
    """Refuses a folder of --dump-regions that is there, before the work. Raises EnvironmentFault."""
    if folder is not None and folder.exists():
        raise EnvironmentFault(
            "exists already; name another folder, or remove it", where=str(folder)
        )


def dump_regions(arguments: argparse.Namespace, options: Options) -> None:
    """Writes the folder that was asked for, if one was. Raises as `inarch.diagnosis.write_regions`."""
    if arguments.dump_regions is None:
        return
    from inarch.diagnosis import write_regions

    files = [*arguments.load_first, *arguments.load]
    write_regions(arguments.model, arguments.dump_regions, options, load=files)
