r"""The shapes of credentials, each anchored on what its issuer always writes.

A shape is a name, and a pattern for RE2. It begins with `\b` unless the issuer's own mark says where it begins: then a
letter may stand before it. Before the others a name may be joined by `_`. What an
issuer writes without a mark of its own, such as 32 hexadecimal digits, is no shape: it would hide half of what people
work with. Such a secret is known by the name that it is kept under, or not at all.

This module refuses to search: it is a table, and `secret_signs` is what looks.
"""

_URL_SAFE = "[A-Za-z0-9_-]"
_OPAQUE = "[A-Za-z0-9._~+/=-]"
_SLASHES = r":\\?/\\?/"
"""After the scheme of a URL; several languages write a slash in JSON as an escape."""
_UUID = "[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}"
_PRIVATE = r"[A-Z ]*PRIVATE KEY(?: BLOCK)?-----"
_IN_BASE64 = "LS0tLS1CRUdJTi(?:BQUklWQVRF|BSU0EgUFJJ|BFQyBQUk|BEU0EgUFJJ|BPUEVOU1NI|BFTkNSWVBURUQgUFJJ|BQR1AgUFJJ)"
"""How a private key begins in base64. Certificates and public keys begin like it, up to the brackets."""

_NO_SLASH = r"[^\s/@\"<>\\]"
_IN_HOST = r"[^\s/?#@\"<>\\]"
# With a slash in it a password is one only where no port can be meant, and no path with a name in it: `/@scope/`.
_SLASHED = rf"[0-9]*[^\s/@\"<>\\0-9{{}}$][^\s/@\"<>\\{{}}$]*(?:\\?/(?:{_IN_HOST}|\\?/)*){_IN_HOST}"
_LOGIN = rf"(?:[^\s/:\"<>\\]*:{_NO_SLASH}+|[^\s/:@\[\"<>\\]*:{_SLASHED})@(?:{_IN_HOST}*@)*"
"""What stands before the host of a URL: up to the last `@`, because there may be one in a password too."""

# "Bearer authentication" and "a basic understanding" are prose: words have no capitals or digits in their middle.
_FORMS: tuple[tuple[str, str], ...] = (
    ("private-key", rf"-----BEGIN {_PRIVATE}(?s:.*?)(?:-----END {_PRIVATE}|\z)"),
    ("private-key-base64", rf"\b{_IN_BASE64}[A-Za-z0-9+/_-]{{16,}}(?:(?:\s|\\+[nr])+[A-Za-z0-9+/_-]{{40,}})*={{0,2}}"),
    ("putty-key", r"\bPuTTY-User-Key-File-[0-9]:(?s:.*?)(?:Private-MAC:\s*[a-f0-9]+|\z)"),
    ("jwe", rf"\beyJ{_URL_SAFE}{{8,}}\.(?:{_URL_SAFE}*\.){{3}}{_URL_SAFE}*"),
    ("jwt", rf"\beyJ{_URL_SAFE}{{8,}}\.{_URL_SAFE}{{8,}}\.{_URL_SAFE}*"),
    ("bearer", rf"\b(?i:bearer)\s+(?:[A-Za-z0-9][a-z]*[A-Z0-9._~+/=-]{_OPAQUE}{{6,}}|[a-z]{{20,}})"),
    ("basic", r"\b(?i:basic)\s+[a-z]*[A-Z0-9+/][a-z]*[A-Z0-9+/=][A-Za-z0-9+/=]{8,}"),
    ("url-password", rf"\b[a-zA-Z][a-zA-Z0-9+.-]*{_SLASHES}{_LOGIN}"),
    ("url-token", rf"\bhttps?{_SLASHES}{_URL_SAFE}{{20,}}@"),
    ("header", r"\b(?i:(?:proxy-)?authorization|(?:set-)?cookie)\s*:\s*[^\s\"'\\\[][^\r\n\"'\\]*"),
    ("element", r"<[A-Za-z0-9_:.-]*(?i:passw(?:or)?d|secret|token|api_?key|secretaccesskey)>[^<>\s][^<>]*</"),
    ("signed-url", r"[?&](?i:x-(?:amz|goog)-(?:signature|security-token)|signature)=[A-Za-z0-9%+/=_.~-]{16,}"),
)
"""Ways to write a secret down that belong to no issuer."""

_CLOUDS: tuple[tuple[str, str], ...] = (
    ("aws-key-id", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
    ("aws-bedrock", r"\bABSK[A-Za-z0-9+/]{100,}"),
    ("google-api", rf"\bAIza{_URL_SAFE}{{35}}"),
    ("google-oauth", rf"\bya29\.{_URL_SAFE}{{20,}}"),
    ("google-client", rf"\bGOCSPX-{_URL_SAFE}{{20,}}"),
    ("azure", r"\b(?i:AccountKey|SharedAccessKey|sig)=[A-Za-z0-9+/%=]{20,}"),
    ("azure-client", r"\b[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"),
    ("alibaba", r"\bLTAI[A-Za-z0-9]{16,24}\b"),
    ("digitalocean", r"\bdo[opr]_v1_[a-f0-9]{40,}"),
    ("cloudflare", r"\bv1\.0-[a-f0-9]{24}-[a-f0-9]{100,}"),
    ("heroku", rf"\bHRKU-{_URL_SAFE}{{36,}}"),
    ("fly", r"\b(?:fm(?:1[ar]|2)_[A-Za-z0-9+/=]{40,}|fo1_[A-Za-z0-9_-]{40,})"),
    ("netlify", r"\bnfp_[A-Za-z0-9]{36,}"),
    ("planetscale", r"\bpscale_(?:tkn|oauth|pw)_[A-Za-z0-9_=.-]{32,}"),
    ("supabase", r"\b(?:sbp_[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,})"),
    ("databricks", r"\bdapi[a-f0-9]{32}"),
    ("tailscale", r"\btskey-[a-z]+-[A-Za-z0-9]{8,}-?[A-Za-z0-9]*"),
    ("terraform", rf"\b[A-Za-z0-9]{{14}}\.atlasv1\.{_URL_SAFE}{{60,}}"),
    ("pulumi", r"\bpul-[a-f0-9]{40}"),
    ("vault", rf"\bhv[sbr]\.{_URL_SAFE}{{20,}}"),
    ("doppler", r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]+\.)?[A-Za-z0-9]{40,}"),
    ("age-key", r"\bAGE-SECRET-KEY-1[A-Z0-9]{50,}"),
    ("1password", r"\bops_eyJ[A-Za-z0-9+/]{40,}={0,3}"),
    ("openshift", rf"\bsha256~{_URL_SAFE}{{43}}"),
)

_BUILDERS: tuple[tuple[str, str], ...] = (
    ("github", r"(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})"),
    ("gitlab", rf"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat)-{_URL_SAFE}{{20,}}"),
    ("atlassian", r"\bAT(?:ATT|CTT|BB)[A-Za-z0-9_=-]{24,}"),
    ("npm", r"\bnpm_[A-Za-z0-9]{30,}"),
    ("pypi", rf"\bpypi-{_URL_SAFE}{{40,}}"),
    ("rubygems", r"\brubygems_[a-f0-9]{48}"),
    ("crates", r"\bcio[A-Za-z0-9]{32}\b"),
    ("nuget", r"\boy2[a-z0-9]{43}\b"),
    ("docker", rf"\bdckr_[op]at_{_URL_SAFE}{{20,}}"),
    ("artifactory", r"\bAKCp[A-Za-z0-9]{60,}"),
    ("circleci", r"\bCCIPAT_[A-Za-z0-9]{16,}_[a-f0-9]{40}"),
    ("buildkite", r"\bbkua_[a-f0-9]{40}"),
    ("sonar", r"\bsq[pua]_[a-f0-9]{40}"),
    ("postman", r"\bPMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    ("newrelic", r"\bNR(?:AK|II|JS|RA)-[A-Za-z0-9_-]{19,}"),
    ("grafana", r"\bgl(?:sa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|c_[A-Za-z0-9+/]{32,}={0,3})"),
    ("sentry", rf"\b(?:sntry(?:u_[a-f0-9]{{64}}|s_[A-Za-z0-9+/=_-]{{40,}})|https?{_SLASHES}[a-f0-9]{{32}}@)"),
    ("dynatrace", r"\bdt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
)
"""Who hosts code and packages, and watches what was made of them."""

_MODELS: tuple[tuple[str, str], ...] = (
    ("openai", rf"\bsk-(?:proj-|svcacct-|admin-)?{_URL_SAFE}{{20,}}"),
    ("anthropic", rf"\bsk-ant-{_URL_SAFE}{{20,}}"),
    ("huggingface", r"\b(?:hf_|api_org_)[A-Za-z0-9]{30,}"),
    ("groq", r"\bgsk_[A-Za-z0-9]{40,}"),
    ("xai", r"\bxai-[A-Za-z0-9]{60,}"),
    ("perplexity", r"\bpplx-[A-Za-z0-9]{40,}"),
    ("replicate", r"\br8_[A-Za-z0-9]{37}"),
)

_OFFICES: tuple[tuple[str, str], ...] = (
    ("interlock-token", rf"\bil_[A-Za-z0-9]{{8,16}}_{_URL_SAFE}{{40,}}"),
    ("stripe", r"\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}"),
    ("stripe-webhook", r"\bwhsec_[A-Za-z0-9+/=]{16,}"),
    ("square", rf"\b(?:sq0(?:atp|csp)-{_URL_SAFE}{{22,}}|EAAA{_URL_SAFE}{{60}})"),
    ("braintree", r"\baccess_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}"),
    ("plaid", rf"\baccess-(?:sandbox|development|production)-{_UUID}"),
    ("shopify", r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    ("slack", r"\bx(?:ox[abeoprs]|app)-[A-Za-z0-9-]{10,}"),
    ("slack-webhook", rf"\bhttps{_SLASHES}hooks\.slack\.com\\?/(?:services|workflows)(?:\\?/{_URL_SAFE}+)+"),
    ("discord", rf"\b[MNO]{_URL_SAFE}{{23,25}}\.{_URL_SAFE}{{6}}\.{_URL_SAFE}{{27,}}"),
    ("discord-webhook", rf"\bdiscord(?:app)?\.com\\?/api\\?/webhooks\\?/[0-9]+\\?/{_URL_SAFE}+"),
    ("telegram", rf"\b[0-9]{{8,10}}:AA{_URL_SAFE}{{32,}}"),
    ("twilio", r"\bSK[a-f0-9]{32}\b"),
    ("sendgrid", rf"\bSG\.{_URL_SAFE}{{16,}}\.{_URL_SAFE}{{16,}}"),
    ("mailgun", r"\bkey-[a-f0-9]{32}\b"),
    ("mailchimp", r"\b[a-f0-9]{32}-us[0-9]{1,2}\b"),
    ("brevo", r"\bxkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    ("dropbox", rf"\bsl\.(?:u\.)?{_URL_SAFE}{{100,}}"),
    ("notion", r"\b(?:ntn_[A-Za-z0-9]{30,}|secret_[A-Za-z0-9]{40,})"),
    ("linear", r"\blin_(?:api|oauth)_[A-Za-z0-9]{30,}"),
    ("airtable", r"\bpat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    ("hubspot", rf"\bpat-(?:na|eu|ap)[0-9]-{_UUID}"),
    ("figma", rf"\bfigd_{_URL_SAFE}{{36,}}"),
    ("contentful", rf"\bCFPAT-{_URL_SAFE}{{40,}}"),
    ("typeform", r"\btfp_[A-Za-z0-9_.=-]{40,}"),
    ("okta", rf"\bSSWS\s+00{_URL_SAFE}{{38,}}"),
)
"""Who moves money and messages, and keeps documents."""

_CHANGE = "(?:[a-z][A-Z0-9]|[0-9][A-Za-z]|[A-Z][0-9])"
RANDOM = {"url-token": rf"(?:{_CHANGE}{_URL_SAFE}*){{4}}"}
"""What has to be in the secret of a shape besides: names of users are long too, but do not change between small and
capital letters and digits all the time."""

KEY_LINES = ((rf"-----BEGIN {_PRIVATE}", rf"-----END {_PRIVATE}"), (r"PuTTY-User-Key-File-[0-9]:", r"Private-MAC:"))
"""How a key of many lines begins and ends, where each line is kept by itself."""

SECRET_SHAPES = (*_FORMS, *_CLOUDS, *_BUILDERS, *_MODELS, *_OFFICES)
"""Every shape. Order is only for naming."""
