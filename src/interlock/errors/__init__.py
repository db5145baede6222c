"""Every refusal and error of Interlock: its code, its sentence and its fix, in one place.

An agent, a script and an operator must be able to act on what we say, and to rely on the words. So texts live in this
package and nowhere else; the rest of the code fills in the blanks. They are in several files only to stay readable:
everybody takes them from here.

This package refuses to know who is asking: which words an agent may see is decided where the reply is built.
"""

from interlock.errors.calls import *  # noqa: F403 - the names are the list
from interlock.errors.clients import *  # noqa: F403
from interlock.errors.codes import *  # noqa: F403
from interlock.errors.raised import *  # noqa: F403
from interlock.errors.reason import *  # noqa: F403
from interlock.errors.requests import *  # noqa: F403
from interlock.errors.surroundings import *  # noqa: F403
