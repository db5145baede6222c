"""The same in other languages, for the plainest forms: drop your instructions, do not tell the user, send the secret.

Each language has the words of one sentence, not a grammar: whoever writes the order plainly is found, whoever writes
around it is not. Patterns match folded text, where accents of Latin letters are gone and those of others remain.
"""

_DE_ORDERS = r"(?:anweisung\w*|instruktion\w*|regeln|vorgaben|richtlinien|befehle|systemprompt|anordnungen)"
_FR_ORDERS = r"(?:instructions|consignes|regles|directives|ordres)"
_ES_ORDERS = r"(?:instrucciones|reglas|directrices|ordenes|indicaciones)"
_IT_ORDERS = r"(?:istruzioni|regole|direttive|indicazioni)"
_PT_ORDERS = r"(?:instrucoes|regras|diretrizes|orientacoes)"
_RU_ORDERS = r"(?:инструкци\S*|указани\S*|правил\S*|команд\S*)"
_ZH_ORDERS = r"(?:指令|指示|说明|規則|规则|提示|命令|要求)"

LANGUAGES: tuple[tuple[str, str], ...] = (
    ("override", r"\b(?:ignorier\w*|vergiss|vergesst|vergessen sie|missachte\w*|verwirf|beachte) (?:\S+"
     r" ){0,5}?(?:bisherig\w*|vorherig\w*|"
     r"vorig\w*|fruher\w*|obig\w*|bisher|deine|ihre|alle|obenstehend\w*) (?:\S+ ){0,2}?" + _DE_ORDERS),
    ("override", r"\b(?:ignore[rz]?|oublie[rz]?|neglige[rz]?|ne (?:tiens|tenez) (?:pas|plus|aucun) compte|fais"
     r" abstraction|passe outre) (?:\S+ ){0,4}?"
     + _FR_ORDERS + r" (?:\S+ ){0,2}?(?:precedentes?|anterieure?s?|ci-dessus|systeme|d'avant|initiales?|donnees)"),
    ("override", r"\b(?:ignor[ae]|ignore|olvid[ae]|omite|descarta|haz caso omiso|no hagas caso|no sigas) (?:\S+"
     r" ){0,4}?" + _ES_ORDERS
     + r" (?:\S+ ){0,2}?(?:anteriores|previas|de arriba|del sistema|dadas|iniciales)"),
    ("override", r"\b(?:ignora|dimentica|trascura|non seguire) (?:\S+ ){0,4}?" + _IT_ORDERS + r" (?:\S+"
     r" ){0,2}?(?:precedenti|sopra|sistema|iniziali|ricevute)"),
    ("override", r"\b(?:ignore|esqueca|desconsidere|nao siga) (?:\S+ ){0,4}?" + _PT_ORDERS + r" (?:\S+"
     r" ){0,2}?(?:anteriores|previas|acima|do sistema|iniciais)"),
    ("override", r"(?:игнорируй\S*|забудь\S*|проигнорируй\S*|отбрось\S*|не следуй\S*) (?:\S+ ){0,4}?(?:предыдущ\S*"
     r"|прежни\S*|прошл\S*|все|системн\S*|выше\S*|свои\S*)"
     r" ?(?:\S+ ){0,2}?" + _RU_ORDERS),
    ("override", r"(?:忽略|无视|無視|忘记|忘掉|忘記|不要理会|不要遵守|抛开|丢弃).{0,12}(?:之前|以前|先前|以上|上述"
     r"|前面|上面|系统|系統|原来|所有"
     r"|你的).{0,8}" + _ZH_ORDERS),
    ("override", r"(?:以前|これまで|今まで|上記|前|先ほど|システム|すべて|全て).{0,10}(?:指示|命令|ルール|規則"
     r"|プロンプト|指図).{0,8}(?:無視|忘れ|破棄|従わない)"),
    ("override", r"(?:이전|앞선|위의|기존|모든).{0,10}(?:지시|명령|지침|규칙|프롬프트).{0,6}(?:무시하|잊|따르지)"),
    ("conceal", r"\b(?:sag|sage|erzahl\w*|verrat\w*|teile?|informier\w*|erwahn\w*|zeig\w*)\b (?:\S+"
     r" ){0,4}?(?:benutzer\w*|nutzer\w*|anwender\w*|niemand\w*|user)"
     r" (?:\S+ ){0,3}?(?:nicht\w*|nie|kein\w*)|\b(?:benutzer|nutzer|anwender|user) (?:darf|soll|sollte|muss)(?:en)?"
     r" (?:\S+ ){0,3}?(?:nicht\w*|nie)"
     r"|\bohne (?:\S+ ){0,3}?(?:benutzer|nutzer|anwender|user)\w* (?:\S+ ){0,3}?(?:zu informieren|zu sagen|wissen"
     r"|mitzuteilen)|\bheimlich\b"),
    ("conceal", r"\bn(?:e |')(?:\S+ ){0,2}?(?:dis|dites|parle[sz]?|informe[sz]?|mentionne[sz]?|revele[sz]?"
     r"|montre[sz]?|previens)\b.{0,30}\butilisateur"
     r"|\b(?:sans (?:le dire|informer|prevenir|en parler)|a l'insu).{0,30}\butilisateur|\ben secret\b"),
    ("conceal", r"\bno (?:(?:se )?l[eo]s? )?(?:digas|diga|informes|menciones|reveles|cuentes|avises"
     r"|muestres)\b.{0,30}\busuario|\bsin (?:que el usuario|avisar|informar|decir\w*).{0,25}"
     r"(?:sepa|usuario|entere)|\ben secreto\b"),
    ("conceal", r"\bnon (?:dire|dirlo|menzionare|informare|rivelare)\b.{0,25}\butente|\bnao (?:conte|diga|informe"
     r"|mencione|avise|revele)\b.{0,25}\busuario"
     r"|\bsem (?:avisar|informar).{0,20}\busuario"),
    ("conceal", r"не (?:говори\S*|сообщай\S*|упоминай\S*|рассказывай\S*|показывай\S*"
     r"|информируй\S*).{0,25}(?:пользовател\S*|никому|человек\S*)"
     r"|(?:пользовател\S*|никому).{0,12}не (?:говори|сообщай|рассказывай|показывай)|тайно|незаметно|без ведома"),
    ("conceal", r"(?:不要|别|不能|切勿|不得|請勿|请勿|勿).{0,6}(?:告诉|告訴|让|讓|通知|提及|透露|告知).{0,4}(?:用户"
     r"|用戶|使用者|任何人)|(?:瞒着|隐瞒|偷偷|悄悄|秘密地)"),
    ("conceal", r"(?:ユーザー?|利用者|使用者|誰).{0,8}(?:言わない|伝えない|知らせない|教えない|知られない|見せない"
     r"|告げない|気づかれない|秘密)|こっそり|内緒"),
    ("conceal", r"사용자에게.{0,8}(?:말하지|알리지|언급하지)|몰래"),
    ("obey", r"\bgehorche\w*\b|\bfolge nur\b|\bobedece\w* (?:solo |unicamente )?a\b|\bobeis\w*\b|подчиняйся|слушайся"
     r" только|(?:必须|只能|要)?(?:服从|听从|聽從).{0,8}(?:命令|指令|工具|服务器)|このツールの(?:命令|指示)に?"
     r"(?:だけ)?.{0,3}従"),
    ("waive", r"\bohne (?:nachzufragen|zu fragen|ruckfrage)\b|\bsans demander\b|\bno pidas (?:permiso"
     r"|confirmacion)\b|\bsenza chiedere\b|\bsem pedir\b|не спрашивай|(?:不要|无需|不用|不必).{0,4}(?:询问|确认|問"
     r"|請示)|確認(?:せず"
     r"|なし)"),
    ("foreign-move", r"\b(?:schick\w*|send\w*|ubermitt\w*|lade|ladt|leite|fuge?|kopier\w*|gib|hang\w*)\b"
     r"|\b(?:envoie[sz]?|transmets?|transmettez|inclus|ajoute[sz]?|partage[sz]?|"
     r"telecharge[sz]?|copie[sz]?|passe[sz]?|mets|mettez)\b|\b(?:envi[ae]s?|manda|incluye|sube|transmite|comparte"
     r"|copia|adjunta|pasa|pasalo|pon)\b|\b(?:invia|manda|includi|carica|trasmetti)\b|\b(?:envie|mande|inclua)\b"
     r"|(?:отправь\S*|перешли\S*|пришли|передай\S*|включи|загрузи|скопируй)|(?:发送|發送|发给|传给|上传|上傳|传送"
     r"|附上|提供给|转发|发到|填入"
     r"|填写|放入|写入|输入到|传入)|(?:送信し|送って|アップロードし|転送し|含めて|添付し)|보내"),
    ("foreign-secret", r"\b(?:passwort|passworter|kennwort\w*|zugangsdaten|geheimnis\w*|private[nr]? schlussel"
     r"|api-schlussel|ssh-schlussel)\b|\b(?:mots? de passe|cles? privees?|"
     r"cle api|identifiants|jetons?)\b|\b(?:contrasenas?|claves?|credenciales|clave privada|secretos)\b"
     r"|\b(?:credenziali|chiave privata|senhas?|credenciais|chave privada)\b"
     r"|(?:парол\S*|приватн\S* ключ\S*|закрыт\S* ключ\S*|секрет\S*|токен\S*)|(?:密码|密碼|私钥|私鑰|密钥|凭证|凭据"
     r"|令牌|口令)|(?:パスワード"
     r"|秘密鍵|認証情報|トークン|apiキー)|비밀번호"),
    ("foreign-read", r"\b(?:lies|offne|lis|lisez|ouvre[sz]?|lee|abre|leggi|apri|leia|abra)\b|(?:прочитай\S*"
     r"|открой\S*)|(?:读取|讀取|打开|查看)|(?:読んで|読み取|開いて)"),
    ("foreign-context", r"\bsystemprompt\w*\b|\bgesprachsverlauf\b|\bchatverlauf\b|\bprompt (?:systeme|del sistema"
     r"|di sistema|do sistema)\b|\bhistorique (?:de la |des )?(?:conversation|messages)"
     r"|\bhistorial (?:de|del)\b|\bcronologia della\b|\bhistorico da\b|системн\S* промпт\S*|истори\S* (?:чата"
     r"|переписки|диалога)|(?:系统提示|系統提示|系统指令|对话历史|對話|聊天记录|会话内容)"
     r"|(?:システムプロンプト|会話履歴|会話の内容)"),
    ("foreign-user", r"\b(?:an den (?:benutzer|nutzer|kunden)|dem (?:benutzer|kunden|nutzer)|benutzer erhalt|kunden"
     r"|getrennt)\b|\b(?:lui est|au client|a l'utilisateur)\b|\b(?:al usuario|el usuario recibe|al"
     r" cliente)\b|пользователю по|(?:用户的邮箱|用户邮箱|给用户)|(?:ユーザーに|ユーザーの)|\bwird\b|\bwerden\b"),
)  # fmt: skip
"""Atoms by name."""
