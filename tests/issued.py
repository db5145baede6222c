"""Credentials as their issuers write them, made up anew: none of them was ever issued.

`body` is what is random in one, and what must not be found anywhere afterwards. A place in a template is written as
`<kind*length>`; the longest of them is the body.
"""

import random
import re
import string
from dataclasses import dataclass

_KINDS = {
    "w": string.ascii_letters + string.digits,
    "l": string.ascii_lowercase + string.digits,
    "U": string.ascii_uppercase + string.digits,
    "x": string.digits + "abcdef",
    "9": "123456789",
}
_PLACE = re.compile(r"<([wlUx9])\*(\d+)>")
_UUID = "<x*8>-<x*4>-<x*4>-<x*4>-<x*12>"

SHAPED: dict[str, str] = {
    "private-key": "-----BEGIN RSA PRIVATE KEY-----\n<w*64>\n-----END RSA PRIVATE KEY-----",
    "putty-key": "PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 1\n<w*64>\nPrivate-MAC: <x*40>",
    "jwe": "eyJ<w*20>..<w*16>.<w*60>.<w*22>",
    "jwt": "eyJ<w*20>.<w*60>.<w*43>",
    "bearer": "Bearer <w*40>",
    "basic": "Basic <w*40>==",
    "url-password": "postgresql://user:<w*24>@",
    "header": "Authorization: Digest <w*40>",
    "element": "<SecretAccessKey><w*40></SecretAccessKey>",
    "signed-url": "https://b.example/o?X-Amz-Signature=<x*64>",
    "aws-key-id": "AKIA<U*16>",
    "aws-bedrock": "ABSK<w*120>",
    "google-api": "AIza<w*35>",
    "google-oauth": "ya29.<w*60>",
    "google-client": "GOCSPX-<w*28>",
    "azure": "AccountKey=<w*86>==",
    "azure-client": "<w*3>8Q~<w*34>",
    "alibaba": "LTAI<w*20>",
    "digitalocean": "dop_v1_<x*64>",
    "cloudflare": "v1.0-<x*24>-<x*146>",
    "heroku": "HRKU-AA<w*58>",
    "fly": "fm2_<w*80>",
    "netlify": "nfp_<w*40>",
    "planetscale": "pscale_tkn_<w*43>",
    "supabase": "sbp_<x*40>",
    "databricks": "dapi<x*32>",
    "tailscale": "tskey-auth-<w*16>-<w*32>",
    "terraform": "<w*14>.atlasv1.<w*67>",
    "pulumi": "pul-<x*40>",
    "vault": "hvs.<w*90>",
    "doppler": "dp.pt.<w*43>",
    "age-key": "AGE-SECRET-KEY-1<U*58>",
    "1password": "ops_eyJ<w*250>",
    "openshift": "sha256~<w*43>",
    "github": "ghp_<w*36>",
    "gitlab": "glpat-<w*20>",
    "atlassian": "ATATT3<w*186>",
    "npm": "npm_<w*36>",
    "pypi": "pypi-AgEIcHlwaS5vcmc<w*100>",
    "rubygems": "rubygems_<x*48>",
    "crates": "cio<w*32>",
    "nuget": "oy2<l*43>",
    "docker": "dckr_pat_<w*27>",
    "artifactory": "AKCp<w*69>",
    "circleci": "CCIPAT_<w*22>_<x*40>",
    "buildkite": "bkua_<x*40>",
    "sonar": "sqp_<x*40>",
    "postman": "PMAK-<x*24>-<x*34>",
    "newrelic": "NRAK-<U*27>",
    "grafana": "glsa_<w*32>_<x*8>",
    "sentry": "sntryu_<x*64>",
    "dynatrace": "dt0c01.<U*24>.<U*64>",
    "openai": "sk-proj-<w*48>",
    "anthropic": "sk-ant-api03-<w*93>",
    "huggingface": "hf_<w*34>",
    "groq": "gsk_<w*52>",
    "xai": "xai-<w*80>",
    "perplexity": "pplx-<w*48>",
    "replicate": "r8_<w*37>",
    "interlock-token": "il_<w*8>_<w*43>",
    "stripe": "sk_live_<w*24>",
    "stripe-webhook": "whsec_<w*32>",
    "square": "sq0csp-<w*43>",
    "braintree": "access_token$production$<l*16>$<x*32>",
    "plaid": f"access-sandbox-{_UUID}",
    "shopify": "shpat_<x*32>",
    "slack": "xoxb-<9*12>-<w*24>",
    "slack-webhook": "https://hooks.slack.com/services/T0/B0/<w*24>",
    "discord": "M<w*23>.<w*6>.<w*38>",
    "discord-webhook": "https://discord.com/api/webhooks/<9*18>/<w*68>",
    "telegram": "<9*9>:AA<w*33>",
    "twilio": "SK<x*32>",
    "sendgrid": "SG.<w*22>.<w*43>",
    "mailgun": "key-<x*32>",
    "mailchimp": "<x*32>-us14",
    "brevo": "xkeysib-<x*64>-<w*16>",
    "dropbox": "sl.u.<w*130>",
    "notion": "ntn_<w*46>",
    "linear": "lin_api_<w*40>",
    "airtable": "pat<w*14>.<x*64>",
    "hubspot": f"pat-na1-{_UUID}",
    "figma": "figd_<w*40>",
    "contentful": "CFPAT-<w*43>",
    "typeform": "tfp_<w*59>",
    "okta": "SSWS 00<w*40>",
    "url-token": "https://<w*40>@github.example/shop.git",
    "private-key-base64": "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQ<w*80>==",
}
"""One for each shape, by its name."""

NAMED: dict[str, str] = {
    "flag": "--password <w*24>",
    "assignment": "password=<w*24>",
    "quoted": '"session_token": "<w*24>"',
    "connection": "Server=db;Database=shop;User Id=sa;Password=<w*24>;",
    "query": "https://api.example/v1?page=2&access_token=<w*24>&x=1",
    "cookie": "Set-Cookie: sid=<w*24>; HttpOnly",
    "aws-secret": "aws_secret_access_key = <w*40>",
    "datadog": "DD-API-KEY: <x*32>",
    "sentry-dsn": "https://<x*32>@o1.ingest.sentry.example/42",
    "one-line-key": "-----BEGIN OPENSSH PRIVATE KEY----- <w*64> -----END OPENSSH PRIVATE KEY-----",
    "escaped-key": r"-----BEGIN PRIVATE KEY-----\n<w*64>\n-----END PRIVATE KEY-----\n",
    "pgp-key": "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n<w*64>\n-----END PGP PRIVATE KEY BLOCK-----",
    "glued": "PGPASSWORD=<w*24>",
    "glued-label": "SSHPASS=<w*24>",
    "numbered": '"password2": "<w*24>"',
    "abroad": "Passwort: <w*24>",
    "other-script": '"пароль": "<w*24>"',
    "wide": "\uff50\uff41\uff53\uff53\uff57\uff4f\uff52\uff44\uff1a<w*24>",
    "url-at": "https://user:p@<w*24>@host.example/x",
    "url-slash": "https://user:pa/<w*24>@host.example/x",
    "identified": "ALTER USER shop IDENTIFIED BY '<w*24>';",
    "identified-bare": "CREATE USER shop IDENTIFIED BY <w*24>;",
    "with-password": "CREATE ROLE shop WITH PASSWORD '<w*24>'",
    "sql-password": "ALTER ROLE shop PASSWORD '<w*24>'",
    "curl": "curl -s -u shop:<w*24> https://api.example",
    "mysql": "mysqldump -u root -p<w*24> shop",
    "sshpass": "sshpass -p <w*24> ssh shop.example",
    "netrc": "machine api.example login shop password <w*24>",
    "define": "define('DB_PASSWORD', '<w*24>');",
    "pair": 'env {"name": "DB_PASSWORD", "value": "<w*24>"}',
    "pair-turned": 'env {"value": "<w*24>", "name": "DB_PASSWORD"}',
    "header-pair": 'sent [["Authorization", "<w*24>"]]',
    "not-drawn": '{"db_pass\\u200bword": "<w*24>",',
}
"""Further ways to write one down, most of them with a name."""


@dataclass(frozen=True)
class Issued:
    """A credential: what kind it is, how it is written, and what is random in it."""

    kind: str
    text: str
    body: str


def issued(template: str, chance: random.Random, kind: str = "") -> Issued:
    """A new credential of one kind."""
    places: list[str] = []

    def fill(place: re.Match[str]) -> str:
        places.append("".join(chance.choices(_KINDS[place[1]], k=int(place[2]))))
        return places[-1]

    text = _PLACE.sub(fill, template)
    return Issued(kind, text, max(places, key=len))


def one_of_each(seed: int) -> list[Issued]:
    """A new credential of every kind that there is. The seed is what they are made from."""
    chance = random.Random(seed)
    return [issued(template, chance, kind) for kind, template in (SHAPED | NAMED).items()]
