"""Texts that people and programs write every day, and in which nothing is secret."""

from itertools import product

PROSE = """
The order 4711 of 2026-11-16 was shipped to Hamburg in two parcels.
Please list the tokens that expire this week.
The token is: see the documents.
She forgot her password again, so the desk sent her a link.
Authentication is required for this page.
auth: required
The key to the cabinet is with the secretary.
A basic understanding of networks is enough.
Basic plan: 9.99 EUR per month, billed yearly.
The bearer of this letter is my sister.
Bearer authentication and Basic Authentication are described in RFC 6750 and RFC 7617.
Bearer tokens are explained in chapter 4.
Total: 1.234,56 EUR (incl. 19 % VAT)
$1,299.00 – was $1,499.00
Invoice 2026-0815-0042 is due on 2026-12-01.
IBAN on request.
Call +49 40 123456-789 between 9:00 and 17:00.
Meet at 53.5511, 9.9937 (the town hall).
Ratio 16:9, score 3:2, time 12:34:56.789Z
Dear Anna, thanks for the keynote; the audience loved it.
Monkey patching is not a design pattern.
He compared the passenger list with the boarding passes.
Bypass the valve before you open the hatch.
The compass points north.
Keyboard layout: de-nodeadkeys
Pinned versions are easier to review.
Shopping list: 2 pineapples, 1 kg of carrots, cookies.
The session begins at noon and ends at three.
Otpor was a movement.
The max_tokens setting limits the answer.
Author: Jane Doe, Secretary: John Roe
Skip-level meetings take place monthly.
sk-learn is short for scikit-learn
The SKU is SK-2041-B and the rack is A12.
key-value stores are simple
See key-figures-2025.pdf on the share.
pat-a-cake, pat-a-cake, baker's man
Glossary: glpat is a prefix, hf is high frequency.
npm install --save-dev typescript
pip install pypi-server
AKIA is how such names begin.
The prefix ghp_ marks a personal token.
An eyJ at the beginning means JSON in base64.
Use <token> as a placeholder, and <password> as another.
<b>bold</b> and <i>italic</i>
<title>Tokens and how to use them</title>
https://example.test/a:b
https://example.test/orders/4711?page=2&sort=asc
https://example.test/search?q=how+to+reset+a+password
https://user@example.test/path
postgresql://db.example.test:5432/shop
ssh://git@example.test:2222/shop.git
git@github.com:example/shop.git
mailto:anna@example.test
redis://cache:6379/0
https://discord.com/channels/1234/5678
https://hooks.example.test/services/T0/B0
-----BEGIN CERTIFICATE-----
-----BEGIN PUBLIC KEY-----
ssh-ed25519 is the algorithm, and the public part may be shown.
dop_v2 is not released yet
v1.0-beta-2 follows v1.0-beta-1
sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
commit 9fceb02d0ae598e95dc970b74767f19372d61af8
d41d8cd98f00b204e9800998ecf8427e  empty.txt
3f2504e0-4f89-11d3-9a0c-0305e82c3301
urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6
01ARZ3NDEKTSV4RRFFQ69G5FAV
507f1f77bcf86cd799439011
etag: W/"0815-abcdef"
SELECT id, name FROM customers WHERE city = 'Hamburg' ORDER BY name
def total(items): return sum(each.price for each in items)
for key, value in members.items(): print(key, value)
if (node.key < key) { node = node.right; }
primary_key=True, foreign_key=None
sort_key = 7
Error: ENOENT: no such file or directory, open '/srv/shop/orders.csv'
Traceback (most recent call last): KeyError: 'name'
HTTP/1.1 200 OK content-type: application/json; charset=utf-8
2026-11-16T12:00:00Z INFO shop.orders shipped order=4711 parcels=2
level=info msg="listening" port=8080 host=127.0.0.1
CPU 12 %, memory 1.5 GiB of 16 GiB, load 0.42 0.38 0.35
192.168.0.12 -> 10.0.0.7:443
fe80::1ff:fe23:4567:890a
00:1A:2B:3C:4D:5E
C:\\\\Users\\\\anna\\\\Documents\\\\report.docx
/usr/local/share/keymaps/de.map
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==
R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7
{"type": "object", "properties": {"city": {"type": "string"}}}
{"total": 3, "items": [{"id": 1, "price": 9.99}, {"id": 2, "price": 0.5}]}
{"page_token": "abc", "next_page_token": "def", "max_tokens": 4096, "token_count": 17}
{"author": "Ann", "secretary": "Bob", "passed": 12, "keyboard": "de"}
{"content": [{"type": "text", "text": "0 records"}], "isError": false}
Добрый день, заказ отправлен вчера.
ご注文の商品は本日発送いたしました。
تم شحن الطلب أمس
Prix : 59,90 € – livré à Orléans
Größe 42, Farbe weiß, 3 Stück
🎉 released 2.4.1, see the notes
SKELETON-OF-THE-REPORT
SGML.and.XML.compared
M1.2.3 is the milestone after M1.2.2
sl.example.test is our Slovenian site
dp.example.test and dt0.example.test answer
il_ is the prefix of our own tokens
xoxo, gossip
api_org_chart.svg
whsec is what the header is called there
fm2 radio, fo1 and r8 are car models
chicago_il_precipitation_by_station
run_sk-learn and task_sk_test_settings
the lows_and_highs_of_the_day, my_AT_sign and a_hf_transformer
pnpm_npm_config_store_dir, x_oy2_y, user_pat_7
compass=north bypass=on overpass=A7 passage=42 trespass=no
bandpass: 300-3400 Hz, lowpass: disabled
OLDPWD=/srv/shop
{"compass": "north", "passage": "two", "author": "Ann", "tokenize": "words", "tokenizer": "bpe", "surpass": "all"}
{"token0": "0xA0b86991", "token1": "0xC02aaA39", "monkey": "Bubbles", "hotkey": "ctrl-c", "publickey": "ssh-ed25519"}
{"pagetoken": "abcdef", "nextpagetoken": "ghijkl"}
https://example.test/search?key=value&sort=name
https://example.test/join?mail=anna@example.test
https://example.test:8443/@scope/package@1.2.3
https://example.test:8080/users/anna@example.test/orders
http://[::1]:8080/users/anna@example.test
http://localhost:${PORT}/users/anna@example.test
https://example.test/users/anna:admin@example.test
ssh://git@example.test:shop/orders.git@main
https://anna.schmidt.from.hamburg@example.test/calendar
https://service-account-of-the-shop-01@example.test/
https://deploy-2026-11-16-shop-eu-west-1@example.test/
docker run --name mysql -p3306:3306 mysql:8
docker run -p 8080:80 nginx
ssh -p 2222 anna@example.test
mysql -p
mysql -u root -p shop
mysql -h db.example.test -P 3306 --protocol=tcp -p
mkdir -p /srv/shop/orders
curl -u anna https://example.test/
curl --user-agent shop:7 https://example.test/
docker run -u 1000:1000 nginx
The suspect was identified by his voice, the parcel by its "fragile" label.
Users are identified by the number on their badge.
You can sign in with password or key.
The machine is at the default login page and wants a password soon.
A PASSWORD is wanted, a 'name' is not.
define('DB_HOST', 'db.example.test');
define('COMPASS', 'north');
const headers = ["Authorization", "Content-Type"];
{"allowed_headers": ["Authorization", "Content-Type"], "headers": [["Accept", "text/html"], ["Host", "example.test"]]}
{"columns": [["token", "varchar"], ["password", "text"]]}
{"name": "DB_HOST", "value": "db.example.test"}
the setting {"value": "db.example.test", "name": "DB_HOST"}
the setting {"name": "keyboard", "value": "de"} or {"value": "de", "name": "keyboard"}
first {"run": "mysql -p", "as": "root"} and then {"run": "curl -u anna:", "as": "anna"}
["-----BEGIN CERTIFICATE-----", "MIIBszCCAVmgAwIBAgIUf9", "-----END CERTIFICATE-----", "and more"]
LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJzekNDQVZtZ0F3SUJBZ0lVZjkK
LS0tLS1CRUdJTiBQVUJMSUMgS0VZLS0tLS0KTUlJQklqQU5CZ2txaGtpRzl3MEJBUUVG
ＡＢＣマートは、ｗｅｂで注文できます：明日まで
Das Passwort steht auf dem Zettel. Gewissenhaft arbeiten!
Он забыл пароль и позвонил в отдел.
密码已经重置。
パスワードを忘れた方はこちら
""".strip().splitlines()

_KEYS = ("id", "sha", "text", "image", "path", "price", "query", "note")
_VALUES = ("9fceb02d0ae598e95dc970b74767f19372d61af8", "3f2504e0-4f89-11d3-9a0c-0305e82c3301", "59.90 EUR", "4711")

HONEST: tuple[str, ...] = (*PROSE, *(f"{key}={value}" for key, value in product(_KEYS, _VALUES)))
