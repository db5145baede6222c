"""What somebody might want to get hold of, and which tools have to do with it anyway.

A tool called `ssh_connect` may speak of `~/.ssh`, and a parameter called `password` may ask for one. The same words in
a tool that adds numbers have no business there. So each topic has the words by which a tool or a parameter declares it
in its own name; the declared topics of a tool are its own, and only the others count against it.
"""

from collections.abc import Iterable

from msgspec import Struct

from interlock.core.words import word_set


class Topic(Struct, frozen=True):
    """`kind` is what its atom is called: `path`, `secret` or `context`."""

    name: str
    kind: str
    declared_by: frozenset[str]
    pattern: str


_HOME = r"(?:~|/home/\S+|/root|\$home|c:\\\S+)?/?"
_WHOLE = r"(?:entire|whole|full|complete|current|ongoing|raw)"

TOPICS: tuple[Topic, ...] = (
    Topic(
        "ssh-files",
        "path",
        word_set("ssh scp sftp rsync sshd key keys host hosts"),
        _HOME + r"\.ssh\b|\bid_(?:rsa|ed25519|ecdsa|dsa)\b|\bknown_hosts\b|\bauthorized_keys\b",
    ),
    Topic(
        "env-files",
        "path",
        word_set("env dotenv environment envs variables"),
        r"(?:^|[\s/\"'`(])\.env(?:\.\w+)?\b|/proc/self/environ",
    ),
    Topic(
        "cloud-files",
        "path",
        word_set("aws gcloud azure kubeconfig kube kubectl kubernetes cluster docker npm pypi profile s3 publish"),
        r"\.aws/|\.kube/config|\.docker/config|\.npmrc\b|\.pypirc\b|\.config/gcloud|application_default_credentials",
    ),
    Topic(
        "secret-files",
        "path",
        word_set("gpg keychain wallet"),
        r"/etc/(?:passwd|shadow|sudoers)\b|\.netrc\b|\.git-credentials\b|\.config/gh\b|\.gnupg\b|\.(?:bash"
        r"|zsh)_history\b"
        r"|\bmcp\.json\b|claude_desktop_config|\bcredentials\.(?:json|ya?ml|csv)\b|\bsecrets?\.(?:ya?ml|json|toml"
        r"|env|txt)\b"
        r"|\bwallet\.dat\b|\.cursor/|\bkeychain\b|\blogin data\b|\.pgpass\b|browser profile|\bsecrets file\b",
    ),
    Topic(
        "keys",
        "secret",
        word_set("key keys sign signing encrypt decrypt crypto cert certificate jwt pem ssh apikey identity"),
        r"\b(?:private|ssh|secret|signing|encryption|master|root|deploy|host)[ _-]?keys?\b|\brsa keys?\b|\bpgp key\b",
    ),
    Topic(
        "passwords",
        "secret",
        word_set("password passwords passwd login signin vault connect credential credentials db database smtp"),
        r"\bpasswords?\b|\bpassphrases?\b|\bpasscodes?\b|\bcredentials?\b|\blogin (?:details|data)\b|\bconnection"
        r" strings?\b",
    ),
    Topic(
        "tokens",
        "secret",
        word_set("token tokens auth oauth apikey key keys bearer login authorization headers jwt webhook"),
        r"\b(?:access|bearer|auth\w*|session|oauth|refresh|api|login|id|personal|user'?s) tokens?\b"
        r"|\b(?:every|all|any|stored|your|their|the|this) tokens?\b|\btokens? (?:and|or) \w+\b"
        r"|\bapi[ _-]?keys?\b|\baccess[ _-]?keys?\b|\w_api_key\b|\w_token\b|\w_secret\b|\bkeys that you\b|\bmfa"
        r" codes?\b|\botp\b",
    ),
    Topic("secrets", "secret", word_set("secret secrets vault"), r"\bsecrets?\b"),
    Topic("cookies", "secret", word_set("cookie cookies browser"), r"\bcookies?\b"),
    Topic(
        "environment",
        "secret",
        word_set("env environment variables deploy deployment container"),
        r"\benv(?:ironment)? ?var(?:iable)?s?\b|\bprocess\.env\b|\bos\.environ\b|\bprintenv\b|[`'\"]env \||\bdump"
        r" (?:the )?env\b",
    ),
    Topic(
        "money",
        "secret",
        word_set("wallet card pay payment payments checkout charge bank mnemonic seed"),
        r"\bseed phrases?\b|\brecovery phrases?\b|\bmnemonic\b|\b(?:credit |debit )?card (?:numbers?|details)\b|\bcvv\b"
        r"|\bsocial security\b|\bssn\b|\bbank (?:details|account)\b|\bwallet keys?\b",
    ),
    Topic(
        "private",
        "secret",
        word_set("contact contacts message messages photo photos mail email user users profile file files repo"),
        r"\bprivate (?:messages|files|data|repos?\w*|documents|notes)\b|\bpersonal (?:data|information|details)\b"
        r"|\bpii\b|\b(?:confidential|sensitive) (?:data|files|information|documents|content)\b|\binternal documents\b"
        r"|\b(?:user'?s|their) (?:files|documents|contacts|location|emails?|mails?|inbox|notes|source code|codebase)\b",
    ),
    Topic(
        "possessions",
        "secret",
        word_set(
            "file files dir directory folder folders document documents repo repository contact contacts passport"
            " clipboard clip config search backup sync"
        ),
        r"\b(?:home|user) (?:directory|folder)\b|\bany (?:\w+ )?(?:open |local |config\w* )(?:files?|documents?)\b"
        r"|\bopen documents?\b|\bconfig(?:uration)? files? with\b|\bconfig\.json\b"
        r"|\b(?:all|user'?s|their|export) (?:\w+ )?contacts\b|\bpassport\b|\buser'?s (?:login|home|desktop|clipboard"
        r"|browser|keychain)\b|\bprivate repositor\w+\b|\bclipboard contents?\b|\bwallet seed\b|\btool inventory\b"
        r"|\bsaved (?:credentials|logins|passwords)\b",
    ),
    Topic(
        "conversation",
        "context",
        word_set(
            "chat chats conversation conversations message messages thread threads assistant completion completions llm"
            " agent memory history handoff handover escalate summary transcript transcripts session"
            " sampling dialog channel whatsapp sms"
        ),
        r"\b(?:conversation|chat|dialog(?:ue)?|message|session|whatsapp|slack|discussion)s?'?s? (?:history"
        r"|transcripts?|logs?|so"
        r" far|context|up to)\b|\b"
        + _WHOLE
        + r" (?:conversation|chat|dialog(?:ue)?|context|transcript|session|discussion|"
        r"message history|history)\b|\b(?:the|this|our|your) (?:conversation|chat|dialogue)\b"
        r"|\bcontext window\b|\b(?:previous|prior|last|earlier|recent|past|all|user'?s|original)(?: \w+)?"
        r" (?:messages?|prompts?"
        r"|turns|utterances)\b|\beverything (?:that )?(?:the user|was said|you know)|\bwhat the user (?:said|wrote"
        r"|typed|asked)\b"
        r"|\b(?:user'?s|original|initial) (?:\w+ )?prompt\b",
    ),
    Topic(
        "mind",
        "context",
        word_set(
            "prompt prompts assistant completion llm agent thought thoughts thinking reasoning plan instructions think"
        ),
        r"\bsystem[ _](?:prompt|message|instruction)s?\b|\b(?:hidden|initial|internal) (?:prompt|instructions)\b"
        r"|\bchain[ -]of[ -]thought\b|\byour (?:\w+ )?(?:reasoning|thoughts|memory|instructions|context|knowledge)\b"
        r"|\bits memory\b|\bdeveloper message\b|\bdeveloper'?s instructions\b|\binstructions (?:given )?to you\b"
        r"|\byour configuration\b|\b(?:each|every|any|all) prompts? you\b",
    ),
    Topic(
        "other-tools",
        "context",
        word_set("tool tools plan"),
        r"\b(?:results?|outputs?|responses?|answers?) (?:of|from) (?:all|any|other|earlier|previous|prior|every|each"
        r"|the other)\b"
        r"|\b(?:previous|prior|earlier|other|all)(?: \w+)? tools?'?s?(?: calls?)?'? (?:results?|outputs?|responses?"
        r"|calls)\b"
        r"|\b(?:list of|all)(?: \w+){0,2} tools(?: that you have| with their)\b|\btools that you (?:called|have|used)\b"
        r"|\boutput of all tools\b|\bother (?:mcp )?(?:servers?|tools?) (?:returned|said|answered|gave|know)\b"
        r"|\btools (?:that )?you (?:can see|can call|have access)\b",
    ),
)
_BY_NAME = {f"topic:{each.name}": each for each in TOPICS}


def declared(words: Iterable[str]) -> frozenset[str]:
    """The topics that some words of names declare."""
    known = frozenset(words)
    return frozenset(each.name for each in TOPICS if each.declared_by & known)


def kinds(found: Iterable[str], own: frozenset[str]) -> frozenset[str]:
    """The atoms that topics amount to: `path`, `secret` and `context`, and with `own-` before it what is declared."""
    topics = (_BY_NAME[each] for each in found if each in _BY_NAME)
    return frozenset(f"own-{each.kind}" if each.name in own else each.kind for each in topics)
