"""Loading the large parts of a gateway without a look for garbage, then or later.

To load them makes nearly two hundred thousand objects, and all but a few of them stay until the process ends. To look
through them again and again took a good part of the time until a gateway ran. So the collector rests meanwhile, and
leaves them alone afterwards. This refuses to keep it from anything else: it goes on as it was, even if loading fails.
"""

import gc
import importlib
import sys


def load_module(name: str) -> None:
    """Load a module and all that it needs, so that to import from it costs nothing any more."""
    if name in sys.modules:
        return
    was_on = gc.isenabled()
    gc.disable()
    try:
        importlib.import_module(name)
        gc.freeze()
    finally:
        if was_on:
            gc.enable()
