"""From the settings of notices to those who are told: secrets resolved, the command split into words.

A webhook whose secret leads nowhere is left out, and the others are told: without its signature a receiver would have
to refuse what it is sent, or to believe anybody. No secret and no path of an address is repeated in what is said of it.
"""

import shlex
from collections.abc import Mapping

from interlock import errors
from interlock.approve.notices import NoticeTargets, Webhook
from interlock.approve.webhooks import key_of
from interlock.config.load import Config
from interlock.config.references import resolve
from interlock.errors import ConfigError, Reason


def notices_of(config: Config, environ: Mapping[str, str]) -> NoticeTargets:
    """Who is told of approvals, and what is wrong with those who cannot be."""
    notices = config.settings.notices
    usable: list[Webhook] = []
    unusable: list[Reason] = []
    for at, given in enumerate(notices.webhooks):
        place = f"notices.webhooks[{at}]"
        try:
            secret = None if given.secret is None else _signing_secret(f"{place}.secret", given.secret, environ)
            usable.append(Webhook(given.url, secret, place))
        except ConfigError as unresolved:
            problem, shown = unresolved.problems[0], Webhook(given.url).shown
            unusable.append(errors.WEBHOOK_UNUSABLE(problem=problem, target=shown))
    command = None if notices.command is None else tuple(shlex.split(notices.command))
    return NoticeTargets(tuple(usable), command, tuple(unusable))


def _signing_secret(where: str, given: str, environ: Mapping[str, str]) -> str:
    secret = resolve(given, environ, where)
    try:
        key_of(secret)
    except ValueError as problem:
        raise ConfigError((f"{where} {problem}",)) from None
    return secret
