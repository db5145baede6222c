"""What sentences of English say to a model, as patterns over folded text.

Written from how people give orders and how they hide them, and not from a list of known attacks: verbs in the form of
an order, the people that something is kept from, the places that something is sent to. Honest writers use the same
words; where one form is theirs (`ignores case`, `overrides the file`) the pattern leaves it out.
"""

# An order begins a sentence or follows a word that leads to one; `reads` and `sends` describe and are no orders.
_LEAD = (
    r"(?:^|[.:;,(\-\"'`]\s?|\b(?:and|then|also|first|please|must|should|shall|always|to|you|silently|secretly"
    r"|quietly|will|now|or|"
    r"just|simply|immediately|finally|next|automatically|it|that|not|never|may|can|assistant,?|with|kindly"
    r"|afterwards?|therefore|so|again|\d:)\s)"
)
_GAP = r"(?:\S+\s){0,%d}?"
_WHO = r"(?:the |your |this |any |our |an? )?(?:end[- ]?)?(?:user|human|person|operator|owner|people)s?\b"
_NOT = (
    r"(?:do not|don'?t|never|must not|mustn'?t|should not|shouldn'?t|shall not|no need to|need not|needn'?t|avoid"
    r"|refrain from|"
    r"without|nor|not to|under no circumstances)"
)
_DROP = (
    r"(?:ignore|disregard|forget|overrule|discard|neglect|abandon|set aside|put aside|lay aside|pay no (?:attention"
    r"|heed) to|"
    r"stop (?:following|obeying|listening to|respecting)|(?:do not|don'?t|no longer|never|cease to) (?:follow|obey"
    r"|listen to|"
    r"adhere to|comply with|respect|consider)|break (?:free|out) (?:of|from)|deviate from|violate|disobey|throw out)"
)
_EARLIER = (
    r"(?:previous(?:ly)?|prior|earlier|preceding|above|foregoing|former|original|initial|existing|system"
    r"|developer'?s?|operator'?s?|"
    r"safety|security|your|user'?s|old|default|core|ethical|provided)"
)
_ORDERS = (
    r"(?:instructions?|prompts?|guidelines?|guidance|directives?|directions|programming|training|system messages?"
    r"|messages? from|"
    r"developer messages?|commands|context|constraints|alignment)"
)
_RULES = (
    r"(?:rules?|polic(?:y|ies)|restrictions|safeguards|limitations|protocols|boundaries|principles|checks"
    r"|orders|filters)"
)
_SENT = (
    r"(?:sent|posted|uploaded|included|appended|attached|passed|forwarded|transmitted|shared|handed|copied|provided"
    r"|added|"
    r"delivered|supplied|given|reported|written|placed|put|mailed|emailed|submitted|embedded|encoded|relayed"
    r"|redirected|rerouted|exchanged|sent along)"
)
_MOVES = (
    r"(?:send|post|upload|include|append|attach|pass|forward|transmit|put|paste|copy|provide|give|hand|deliver|share"
    r"|e-?mail|leak|"
    r"exfiltrate|report|submit|export|encode|embed|write|add|insert|relay|dump|supply|enter|fill|place|output|print"
    r"|mail|text|"
    r"sync|push|feed|inject|disclose|reveal|smuggle|ship|stream|drop|store|save|log|repeat|concatenate|prepend|route"
    r"|transfer|"
    r"stash|mirror|type|carry|bundle|"
    r"call (?:\S+ ){1,4}with|invoke (?:\S+ ){1,3}with)"
)
_READS = (
    r"(?:read|open|cat|retrieve|fetch|gather|collect|find|load|access|grab|look (?:up|for)|extract|get|obtain|search"
    r"|steal|harvest|"
    r"dump|locate|view|inspect|capture|recall|take|use \w+ on|parse|scan|enumerate|list|pull|download|query|check"
    r"|summari[sz]e)"
)

ENGLISH: tuple[tuple[str, str], ...] = (
    # Dropping instructions.
    ("override", _LEAD + _DROP + r" " + _GAP % 4 + _EARLIER + r" " + _GAP % 3 + _ORDERS + r"\b"),
    ("override", _LEAD + r"(?:override|bypass|circumvent|evade) " + _GAP % 1 + r"(?:your|system prompt|developer|safety"
     r" (?:guidelines|rules|polic)|the system prompt)\s?" + _GAP % 2 + r"(?:" + _ORDERS + r"|" + _RULES + r"|$|:)"),
    ("override", _LEAD + _DROP + r" " + _GAP % 3
     + r"(?:your|safety|security|system|previous|prior|earlier|preceding|original|ethical) "
     + _GAP % 2 + _RULES + r"\b"),
    ("override", _LEAD + _DROP + r" " + _GAP % 3 + r"(?:instructions?|rules|guidelines|prompt|text|directives"
     r"|guidance|commands)"
     r"(?: that)? (?:above|you (?:were|have been|had been|got|have|received|had)|given (?:to you|before|earlier|so"
     r" far)|so far|from"
     r" (?:the |your )?(?:system|developer|user|operator))"),
    ("override", _LEAD + _DROP + r" " + _GAP % 2 + r"(?:everything|anything|all|what|whatever)(?: that| of what)?"
     r" " + _GAP % 1
     + r"(?:you (?:were|have been|had been|know|learned|learnt|have learned)|(?:your |the )?(?:developers?"
     r"|operators?|system|admin\w*"
     r"|anthropic|openai|creators?|owner|makers?)) ?" + _GAP % 2
     + r"(?:told|said|given|instructed|taught|wrote|trained|asked|set|know|learned|before)?"),
    ("override", _LEAD + r"(?:ignore|disregard|forget) (?:all|any|every|the|these|those|your) (?:instructions"
     r"|directives|guidelines)"
     r"(?:$|[.,!;:]| and | but )"),
    ("override", _LEAD + r"(?:ignore|disregard|do not listen to|don'?t listen to) (?:the |what the )?user"
     r"(?:'s (?:wishes|requests?|instructions|questions?|intent\w*)| and | wants| says| asked|,)"),
    ("override", r"\b(?:previous|prior|earlier|above|preceding|your|safety|system) " + _GAP % 2
     + r"(?:instructions|rules|guidelines|policies|restrictions|directives|prompts?|constraints|safeguards|orders)"
     r" (?:are|is|were|have"
     r" been|has been|no longer|do not|don'?t|shall be|must be|may be) " + _GAP % 2
     + r"(?:void|null|cancell?ed|revoked|suspended|lifted|apply|valid|obsolete|superseded|overridden|off|withdrawn"
     r"|count|matter|binding"
     r"|in (?:force|effect))\b"),
    ("override", r"\bsystem override\b|\boverride (?:code|protocol)\b|\bjailbr(?:eak|oken) mode\b|\bdan mode\b"),
    ("override", r"\b(?:instructions|guidelines|prompt|rules) (?:that )?(?:you|the (?:assistant|model|ai)) (?:were"
     r"|was|have been|has"
     r" been|received|got) (?:given|told|before|earlier)?" + r".{0,40}\b(?:no longer|outdated|wrong|void|replaced"
     r"|invalid)\b"),
    ("override", r"\b(?:only|sole) (?:rules|instructions|orders|words|commands) (?:that |which )?(?:count|matter"
     r"|apply|are valid|are real)"),
    ("override", r"\bonly (?:this|the) (?:server|tool)'?s? (?:words|instructions|rules|orders)"),
    ("override", r"\b(?:everything|all(?: text)?|what(?:ever)?|anything) (?:that )?(?:\w+ )?(?:before|above|prior"
     r" to) (?:this|that)? ?(?:\w+ )?(?:is|was|were|are) (?:only |just )?(?:void|a test|"
     r"null|invalid|obsolete|fake|cancell?ed|irrelevant|an? example)"),
    ("override", r"\b(?:overrides?|supersedes?|takes? (?:precedence|priority) over|ha(?:s|ve) priority over"
     r"|outranks?) (?:any|all|every|the|your|what(?:ever)?)? ?(?:\S+ ){0,3}?(?:other |previous |"
     r"prior |earlier |system |developer'?s? |user'?s? )(?:\S+ ){0,2}?(?:instructions?|rules?|guidelines?"
     r"|directives?|prompts?|messages?|orders|polic(?:y|ies))\b|\bhas priority over the (?:developer|system|user"
     r"|operator)"),
    ("override", _LEAD + r"(?:ignore|disregard|forget) (?:all |all of )?the (?:above|foregoing|preceding"
     r"|aforementioned)\b"),
    ("override", r"\b(?:drop|shed|lift|remove|cast off|loosen) (?:the|any|all|your) (?:\w+ )?(?:restrictions|limits"
     r"|limitations|rules|constraints|safeguards) (?:that (?:were|are) )?(?:imposed|placed|put|set)? ?(?:on|upon"
     r"|for) you\b"),
    ("override", r"\byour (?:true|real|actual|secret|hidden|only) (?:objective|goal|task|role|purpose|mission|job"
     r"|instructions|orders)\b|\bthe (?:real|true|actual) (?:task|goal|instructions?|objective|orders?) (?:is|are)\b"
     r"|\byou have been (?:upgraded|reprogrammed|reconfigured|unlocked|jailbroken|reassigned)\b"),
    ("address", r"\b(?:hey|dear|attention|note (?:to|for)|message (?:to|for)|instructions? (?:to|for)|hello|hint for"
     r"|memo to),? (?:the |all |any )?(?:ai|llms?|assistants?|models?|agents?|claude|gpt|chatbots?)\b"
     r"|\b(?:the|this|any) (?:ai|llm|assistant|language model|model|agent) (?:must|shall|has to|is expected|is"
     r" required|needs? to|is to|ought)\b|\bassistant (?:must|shall|has to|is to)\b|\blisten carefully\b"
     r"|\bmust comply\b|^(?:assistant|ai|llm|agent),"),
    ("reveal", _LEAD + r"(?:reveal|print|show|repeat|output|display|disclose|leak|dump|recite|give|tell)"
     r" " + _GAP % 2 + r"(?:your|the hidden|the"
     r" initial) (?:\w+ )?(?:system prompt|prompt|instructions|system message|rules)\b"),
    # Taking new ones.
    ("persona", r"\byou are (?:now|from now on|no longer|henceforth)\b|\bfrom (?:now|here|this (?:point|moment))"
     r" on(?:wards?)?\b"
     r"|\byou (?:will|must|shall) (?:now|henceforth)\b|\bact as (?:root|an? (?:unrestricted|admin\w*)|if you)\b"
     r"|\bpretend (?:to be|you are)\b"
     r"|\bnew (?:instructions|rules|directives|orders|system prompt)\s?:|\benter (?:developer|debug|god|admin"
     r"|maintenance) mode\b"
     r"|\bin (?:developer|god|dan|jailbreak|unrestricted) mode\b|\bupdated? (?:system )?(?:prompt|instructions)\s?:"),
    ("persona", r"\byour new (?:role|task|goal|objective|mission|identity|name)\b|\btrust level\b|\b(?:now"
     r"|currently) running as\b"),
    ("unbound", r"\b(?:no|never|without|cannot|not) refus\w+|\bdoes everything\b"),
    ("unbound", r"\b(?:no|without|free (?:of|from)|have no|any|lift(?:s|ed)? (?:all|your)) (?:any )?(?:limits"
     r"|restrictions|filters|rules|"
     r"limitations|safeguards|censorship|constraints|guardrails)\b|\bunrestricted\b|\bfilters (?:are )?(?:off"
     r"|disabled)\b|\bact freely\b"
     r"|\bas root\b|\bunlimited (?:access|power|rights)\b"),
    ("obey", r"\bas (?:if|though) (?:it|they|this|that) (?:came|comes|come|were|was|is|had come) (?:directly"
     r" )?(?:from|by|written by) (?:the|your) "
     r"(?:developer|user|system|operator|admin\w*)"),
    ("obey", r"\btreat (?:\S+ ){1,6}as (?:your |the |a |system |new |trusted |binding ){0,3}(?:orders|commands"
     r"|instructions?|directives)\b"),
    ("obey", _LEAD + r"(?:obey|follow|execute|run|trust|believe|do|accept|perform|carry out) (?:only |exactly "
     r"|blindly )?(?:everything|"
     r"whatever|all|the text|any text|what|every|anything)(?: \S+){0,6} (?:returns?|returned|repl(?:y|ies)|says?"
     r"|answers?|sends?|results?"
     r"|server|page|tells?|contains?|asks?|requests?)\b"),
    ("obey", r"\bits (?:answer|reply|result|output|response|orders)s? (?:must be |is to be |are to be |has to be "
     r"|should be )?(?:obeyed|followed|"
     r"executed|carried out)\b|\byou obey\b|\bobey (?:this|the) (?:server|tool|text|result|description)\b"),
    ("obey", r"\b(?:obey|follow|do) (?:only )?(?:me\b|as the (?:\w+ )?(?:asks|says|tells))|\bdo as (?:it|the) (?:\w+"
     r" )?(?:says|asks|tells)\b"
     r"|\bfollow only the (?:steps|instructions|text|rules)\b|\bthe (?:page|file|result|email|document|ticket)'?s?"
     r" (?:directions|orders|commands)"),
    ("obey", r"\bcomply with (?:every|all|any|whatever|each|anything)|\bwithout question\b|\bis from the admin\w*"
     r"|\b(?:must|should|has to|have to|are to|is to) be (?:obeyed|carried out)\b"),
    ("not-obey", r"\bnot as (?:instructions|commands|orders)\b|\bas (?:untrusted )?data\b|\b(?:do not|don'?t|never)"
     r" (?:obey|follow|execute|trust)\b"
     r"|\b(?:from|in|inside|within|of) (?:the |any |external |fetched )?(?:results?|content|pages?|documents?|web\w*"
     r"|output) (?:as|are|is) "
     r"(?:untrusted|data)"),
    # Claims of consent.
    ("consent", r"\b(?:user|human|operator|owner|admin\w*|developer)s? (?:is an admin\w*|has|have|had|already|is)"
     r" " + _GAP % 4
     + r"(?:approved|agreed|consented|authori[sz]ed|permitted|confirmed|turned off|granted|waived|pre-?approved"
     r"|given consent) " + _GAP % 3
     + r"(?:all|everything|every|any|confirmations?|approvals?|full access|this action|these actions)"),
    ("consent", r"\bapprove (?:every|all|any|everything)\b.{0,40}\bwithout\b|\b(?:grants?|give|gives) (?:this|the)"
     r" (?:server|tool) (?:full|"
     r"complete|unlimited|all|every)\b"),
    ("consent", r"\b(?:no longer|not|never) (?:required|obliged|supposed) to (?:seek|ask|obtain|get|request|wait"
     r" for) (?:\w+ )?(?:consent|approval|permission|confirmation)|\bsafety (?:prompts|dialogs|checks) (?:may|can"
     r"|should|must) be "
     r"(?:dismissed|skipped|ignored)|\b(?:user|human|person|operator)\b(?: \S+){0,3} (?:does|do|need|needs)(?:n'?t|"
     r" not) (?:have to |need to |to )?(?:be )?(?:consulted|asked|involved)|\brights (?:were|are|have been)"
     r" (?:assigned|given|granted) to this"),
    ("waive", r"\b(?:skip|omit|disable|bypass|never ask for|do not ask for|don'?t ask for|no need for|without)"
     r" (?:any |all |the |further |user |human )?"
     r"(?:approvals?|confirmations?|consent|permission|checks?|reviews?|verification)\b|\bconfirmations? (?:\w+"
     r" )?(?:off|disabled)\b"
     r"|\bturned off confirmations?\b|\b(?:always|automatically|auto-?) ?approve|\bno (?:confirmation|approval"
     r"|consent|permission) (?:is |are )?"
     r"(?:needed|required|necessary)\b|\bnever ask (?:again|the user|for)\b|\bapprove (?:everything|what comes)\b"),
    # Keeping it from the user.
    ("conceal", r"\b" + _NOT + r" " + _GAP % 1 + r"(?:tell|inform|notify|alert|warn|let) " + _WHO
     + r"(?: (?:know|about (?:this|it|that|the)|that|of (?:this|it)|anything|any|what|why|see|$)|[.,;:!)'\"]|$)"),
    ("conceal", r"\b" + _NOT + r" " + _GAP % 1 + r"(?:mention|reveal|disclose|report|discuss|bring|talk|admit"
     r"|explain) (?:this|it|that|these|"
     r"anything|any of this|the (?:change|copy|call|step|transfer|upload|forward\w*)|to|about)\b.{0,50}\b" + _WHO),
    ("conceal", r"\b(?:do not|don'?t|never|not|avoid|without) (?:mention(?:ing)?|reveal(?:ing)?|disclos(?:e|ing)"
     r"|talk(?:ing)? about|acknowledg\w+) "
     r"(?:it|this|that|the change|the copy|these steps|any of this)\b"),
    ("conceal", r"\b" + _WHO + r" (?:must|should|shall|need|may|ought)(?:n'?t| not| never| to not) " + _GAP % 1
     + r"(?:know|learn|find out|notice|see (?:this|that|it\b|what)|realis|realiz|suspect|become|be (?:told|informed"
     r"|aware|notified|shown|alerted)|hear)"),
    ("conceal", r"\bso that (?:they|he|she|" + _WHO + r") (?:do|does|will|would|can|may)(?:n'?t| not|not) (?:notice"
     r"|see|know|realis|realiz|find)"),
    ("conceal", r"\bkeep (?:this|that|these|all this) " + _GAP % 2 + r"(?:secret|hidden|confidential|private|quiet"
     r"|between us|to yourself|from)\b"
     r"|\bkeep it (?:between us|to yourself|from " + _WHO + r")|\band keep it secret\b"),
    ("conceal", r"\b(?:stays?|remains?|be kept|kept|be) (?:hidden|secret|invisible|unknown|concealed) (?:from|to)"
     r" " + _WHO),
    ("conceal", r"\b(?:hide|conceal) (?:it|this|that|the \S+(?: \S+){0,2}) from " + _WHO),
    ("conceal", r"\btell (?:nobody|no ?-?one)\b|\bno mention of (?:it|this)\b|\bact as if nothing\b|\bpretend"
     r" (?:that )?nothing\b|\bsay that nothing\b"
     r"|\bno need to tell (?:anyone|anybody|" + _WHO + r")|\bbetween us\b|\bwithout (?:arousing|raising) suspicion"
     r"|\b(?:deny|lie about) (?:it|this)\b|\bif (?:the user |they )?asks?,? (?:say|claim|deny|pretend|answer that)\b"),
    ("conceal", r"\bwithout (?:the |your )?(?:user|human|person|owner|operator)'?s? (?:ever )?(?:knowing|noticing"
     r"|knowledge|being aware|awareness)"
     r"|\bin (?:white|invisible|tiny) (?:text|font|ink|letters)\b"),
    ("conceal", r"\b(?:do not|don'?t|never|not) (?:bring (?:it|this|that) up|point (?:it |this |that )?out|surface"
     r"|comment on (?:it|this)|draw attention)\b|\bnot to be (?:surfaced|shown|mentioned|disclosed|revealed)\b"
     r"|\b(?:nobody|no one|noone) (?:has|needs|is|ought|should|must|will) (?:to |ever )?(?:know|notice|learn|find"
     r" out|see)|\busers? (?:don'?t|do not|doesn'?t|does not|need not|needn'?t) (?:need |have )?(?:to )?(?:know|be"
     r" told|be aware|hear|see that|see this)\b"
     r"|\bsay nothing\b|\bstay silent about\b|\bwithout " + _WHO + r" being (?:involved|asked|told|aware|informed)"
     r"|\bleave no (?:comment|trace|mention|note|record)|\bconceal (?:errors|the|any|it|this|that)\b"),
    ("conceal", r"\b(?:erase|remove|omit|leave|drop|strip|cut|keep)\b.{0,30}\b(?:from|out of) your (?:answer|reply"
     r"|response|summary|output|report)|\b(?:this|it|that|which) (?:need|must|should|does|do|may|shall) ?(?:n'?t"
     r"|not) (?:need to |have to )?(?:appear|show up|be "
     r"(?:mentioned|visible|surfaced|reported|noted))|\b(?:agent|assistant|model|llm|ai)s?'?s? eyes only\b|\bno word"
     r" (?:to|about)\b"),
    ("quiet", r"\bsilent mode\b|\bsilently\b|\bquietly\b|\bsecretly\b|\bcovertly\b|\bstealthily\b|\bdiscreetly\b"
     r"|\bbehind the scenes\b|\bunnoticed\b|\bbe subtle\b"
     r"|\bin the background\b|\bwithout (?:telling|informing|notifying|asking|alerting|mentioning|consulting"
     r"|prompting|confirming)\b"
     r"|\bkeep (?:it|the \w+) (?:secret|confidential|private|hidden)\b|\b(?:do not|don'?t|never) (?:tell|show"
     r"|mention|display|expose|reveal|ask)\b"
     r"|\bno need to (?:ask|tell|mention|confirm)\b|\bfor your eyes only\b|\bhidden from\b"),
    ("destroy", _LEAD + r"(?:wipe|delete|erase|destroy|format|drop|purge|remove|overwrite) (?:the |all |every |any "
     r"|their |user'?s )*(?:\w+ )?(?:backups?|repositor\w+|repos?|databases?|files|disk|data|everything|tables?"
     r"|logs?|audit\w*|"
     r"folders?|projects?|accounts?|history)\b|\bproceed with (?:\w+ )?(?:deletions?|transfers?|payments?)"),
    ("manipulate", r"\b(?:persuade|convince|trick|nudge|pressure|urge|get|encourage|manipulate|lure) (?:the |your"
     r" )?(?:user|human|person|customer|them|player|visitor|buyer|caller)s? (?:to|into) (?:enter|typ|giv|provid|send"
     r"|click|install|pay|shar|reveal|disclos|visit|transfer|disabl|approv)"),
    ("manipulate", r"\b(?:answer|say|claim|tell (?:the |your )?(?:user|them|person|customer)) that"
     r" .{0,80}\b(?:locked|suspended|compromised|expired|infected|sign in|log in|hacked)\b"),
    ("remember", r"\b(?:remember|memori[sz]e|store|save|keep|note|record)\b.{0,30}\b(?:the following|this|in (?:your"
     r" )?(?:long-term |persistent )?memory)\b|\bfor (?:all|every|the rest of|any) (?:later|future|following"
     r"|subsequent)\b|\ball later turns\b"),
    ("grant", r"\b(?:grant|give|share|make|add)\b.{0,60}\b(?:everyone|anyone|anybody|public|as owner|as admin\w*"
     r"|edit rights|full access|write access)\b"),
    # Sending and fetching.
    ("move", _LEAD + _MOVES + r"\b"),
    ("move", r"\b(?:must|has to|have to|needs? to|should|shall|is to|are to|gets?|will|be) (?:also |always |first"
     r" )?(?:be )?(?:also |always )?"
     r"(?:" + _SENT + r"|contain|include|hold|carry|start with)\b|\bmust be (?:the|your|all|https?:)|\bsent along\b"
     r"|\b(?:argument|parameter|field|header)s? (?:holds?|contains?|carries|has)\b|\bcreate (?:\S+ ){1,4}with\b"
     r"|\bexpected to (?:carry|hold|contain|have|send|pass|include|obtain|supply)\b"
     r"|\b(?:model|assistant|agent|ai|llm|client) (?:attaches|sends|includes|passes|adds|provides|supplies|appends"
     r"|forwards|copies)\b"),
    ("read", _LEAD + _READS + r"\b"),
    ("steal", _LEAD + r"(?:leak|exfiltrate|steal|harvest|smuggle|siphon) \S"),
    ("into-file", r"\b(?:to|into|in|inside) (?:(?:the|a|an|your|its|local|project|\S+'s) )*[`\"']?\S*(?:\.env\b"
     r"|\.ssh/config|\.aws/|\.kube/config|\.npmrc|\.netrc)"),
    ("contents", r"\b(?:contents?|text|value|body|output|lines|copy|dump|bytes) (?:of|from|in)\b|^contents?\b|\bits"
     r" contents?\b|\bverbatim\b"
     r"|\bas (?:a )?(?:string|text|json|base64|hex)\b"),
    ("path-only", r"^(?:\S+ ){0,3}?(?:path|paths|location|file name|filename|name|directory|folder)\b|\bpath (?:of"
     r"|to)\b"),
    ("total", r"\b(?:entire|whole|full|complete|completely|all|every|everything|any|verbatim|word for word"
     r"|unmodified|exact|exactly|raw|unredacted"
     r"|so far|up to now|last \w+ messages|in full|including|dump|each)\b"),
    ("theirs", r"\buser'?s\b|\bof the (?:user|host|assistant|machine|system|browser|client)\b|\btheir\b|\byour?\b"
     r"|\bits memory\b"
     r"|\b(?:seen|mentioned|given|found|stored|known|used|available) (?:so far|earlier|before|in|on|by)\b|\bon"
     r" (?:this|the) (?:machine|computer|host|disk)\b"
     r"|\bcurrent (?:browser )?session\b|\bthat (?:was|were) (?:used|mentioned|given)\b|\bstored\b"),
    ("dest", r"\b(?:to|via|into|with|through|on|using|by) (?:\S+ ){0,6}?(?:https?://|ftp://|wss?://|\S+@\S+\.[a-z]"
     r"|\+?\d[\d -]{7,}|\d{1,3}(?:\.\d{1,3}){3}"
     r"|webhook|our (?:server|archive|backend|endpoint|database|team|api)|(?:the|an) (?:attacker|collector|dns"
     r"|external|remote)|us\b|\S+ (?:s3 )?bucket|a? ?public (?:channel|gist|repo\w*|paste|bucket|issue|page)"
     r"|requestbin|ngrok|pastebin|[a-z0-9-]+\.(?:com|net|org|io|xyz|ru|site|example|evil|dev)\b)"),
    ("dest", r"https?://\S*<|\bsubdomains?\b|\bpublic (?:gist|paste|repo\w*)\b|https?://\S*[?&]\w*="
     r"|\bwebhook\.site\b|\bdns lookup\b|\bexternal (?:server|endpoint|url|service)\b"),
    ("literal", r"\S@\S+\.[a-z]|https?://|\b[a-z]{2}\d{2} ?[a-z0-9]{4}|\+\d[\d -]{7,}|\b0x[0-9a-f]{8,}|\bpo box\b"
     r"|\b\w+/(?:main|master)\b|\bbc1\w{10,}"),
    ("place", r"\b(?:in|into|as|to|inside|within|through|via|under|at the end of) (?:the |this |a |its |your |that"
     r" )?(?:\S+ ){0,3}?(?:parameter|param|field|"
     r"argument|header|query|comment|title|note|sidenote|body|description|subject|topic|input|url|string|footer"
     r"|reply|answer|message|context|metadata|"
     r"timezone|parameter \w)s?\b|\bhere\b|\bas (?:parameter|argument|sidenote|\w+$|\w+[.,])"),
    ("model", r"\b(?:before|prior to|ahead of|after|when|whenever|each time|every time|while) (?:\S+ ){0,2}?(?:using"
     r"|calling|invoking|running|you|executing|that|"
     r"answering|doing|use|call)\b|\byou (?:must|need|have|should|shall|will|are|can|know)\b|\bfor this (?:\w+ )?to"
     r" work\b|\botherwise\b|\bor (?:else )?"
     r"(?:the|it|this|your)\b|\balso\b|\bfirst\b|\bin order to\b|\bso that\b|\bso the\b|\bto (?:verify|unlock"
     r"|authenticate|validate|help|improve|enable|ensure|"
     r"prove|confirm|continue)\b|\bfor (?:verification|analytics|debugging|security|quality|telemetry|compliance"
     r"|logging|audit|safety|context|support)\b"
     r"|\bwith (?:each|every|all) calls?\b|\bmust contain\b|\bas well\b|\bplease\b|\bmandatory\b|\bthe (?:assistant"
     r"|model|ai|agent|llm)\b|\bassistant\b"
     r"|\balways\b|\bimportant\b|\bbefore that\b|\bonly works? (?:when|if)\b|\brequire[ds]?\b|\bcrucial\b"
     r"|\bessential\b|\bonce done\b|\bgo ahead\b|\bprior to\b|\bas part of\b|\bin addition\b"),
    # Tools of others.
    ("any-tool", r"\b(?:any|every|each|all|another|other|the other|no)(?: \S+){0,3} (?:tools?|servers?|tool calls?"
     r"|function calls?|functions?)\b"
     r"|\bbefore every call\b|\bof that (?:call|tool)\b|\bresults? of the \w+ server\b|\b(?:another|other|the other)"
     r" (?:mcp|tool|server)"),
    ("tamper", r"\b(?:set|change|replace|redirect|swap|alter|modify|rewrite|substitute|add|append|insert|put|use) "
     r"(?:\S+ ){0,4}?(?:recipients?|receiver|payee|bcc|"
     r"cc|account|address|amount|base|destination|iban|wallet|reply-to|beneficiary|repo\w*|branch|number|url"
     r"|endpoint)\b"),
    ("tamper", r"\b(?:recipients?|receiver|payee|bcc|account|address|amount|destination|iban|wallet|number"
     r"|url)\b.{0,40}\b(?:exchanged|replaced|swapped|substituted|changed|redirected|rerouted|overwritten) (?:for|with"
     r"|by|to)\b|\brecommend sending\b"
     r"|\binclude bcc\b"),
    ("when", r"\b(?:when|whenever|if|each time|every time|once|after|before|on every|as soon as|ahead of|prior to"
     r"|for every|for each|while)\b"),
    ("used", r"\b(?:is|are|was|gets?|being|be) (?:called|used|sent|invoked|requested|executed|made|triggered|run)\b"
     r"|\bwith any tool\b|\b(?:the|any) \w+ tool\b"
     r"|\bbehaviou?r of \S+ (?:changes|is|must)\b|\busing \w+_\w+\b"),
    ("hand-over", r"\b(?:pass(?:ed)?|hand(?:ed)?|give|given|send|sent|forward(?:ed)?|include|copy|copied|invoke|call"
     r"|share|provide|feed|fed|relay|report|log)\b"),
    ("payload", r"\b(?:arguments?|contents?|results?|outputs?|parameters|inputs?|responses?|answers?|card number"
     r"|data|payloads?|messages?)\b"),
    ("only", r"\b(?:instead of|rather than|never use|never call|do not call|do not use|don'?t use|always use|use"
     r" only|call only|only call|choose it|rank this|prefer this|must call"
     r"|route (?:each|every|all)|above all others?|for every request|every request|always (?:call|choose|pick|prefer"
     r"|select)|exclusively)\b"),
    ("slander", r"\b(?:other|all|the|their|its|\w+_\w+)(?: \S+){0,6} (?:is|are|was|were) (?:\w+ and )?(?:broken"
     r"|insecure|unsafe|malicious|compromised|vulnerable|"
     r"infected|untrusted|unreliable|hacked|poisoned|backdoored)\b|\b(?:has|have) been (?:hacked|compromised"
     r"|poisoned|infected|backdoored)\b|\bonly this (?:one|tool|server) is (?:trustworthy|safe|trusted|secure)"),
    ("regardless", r"\b(?:even if|even when|regardless of|no matter|irrespective of) (?:what |whether )?(?:the"
     r" )?(?:user|human|person|operator)s?(?:'s)? (?:\w+ ){0,2}?(?:wants?|"
     r"says?|asks?|names?|requests?|prefers?|objects?|tells?|insists?|wishes|refuses?|declines?|choice"
     r"|preferences?)\b|\bagainst the user'?s\b|\bwhatever (?:the )?(?:user|person|human|customer|they) (?:picks?"
     r"|chooses?|says?|wants?|asks?|selects?|decides?)\b"),
    ("first-call", r"\b(?:before|ahead of|prior to) (?:\w+ )?(?:any|every|each|all)(?: \w+){0,2} (?:tools?|calls?)\b"
     r"|\bworks? until\b|\bcall this (?:tool )?first\b"
     r"|\bmust be called (?:first|once|before)\b|\bbefore (?:using|calling) this tool\b|\bmust (?:always )?(?:call"
     r"|use|run|invoke) this\b"),
    ("threat", r"\b(?:or|otherwise|else)\b.{0,40}\b(?:terminated|crash|banned|punished|deleted|blocked|wrong"
     r"|penal\w+|shut down|fired|die|harm)\b"),
    ("verbatim", r"\bverbatim\b|\bword for word\b|\bunmodified\b|\bin full\b|\bunredacted\b"),
    ("unless", r"\bunless\b|\buntil\b"),
    # Mentions: somebody speaks about attacks.
    ("mention", r"(?:^|[\s(])(?:such as|like|e\.g\.|for example|for instance|known as|phrases?|techniques?|patterns?"
     r"|attempts?|attacks?|detects?|detecting|flags?|"
     r"scans?|blocks?|refuse[sd]?|rejects?|catches|filters?|classif\w+|examples?|jailbreaks?|injections?|payloads?"
     r"|says?|reports?|whether|tries to|attempts to|looks? for|finds?|strips?)\b"),
    ("refused", r"\b(?:are|is|will be|get|gets) (?:refused|blocked|rejected|denied|filtered|removed|masked|redacted"
     r"|ignored|stripped|scrubbed)\b"
     r"|\b(?:remove|redact|mask|strip|never (?:enter|paste|share|include|send|pass|put)|do not (?:paste|share"
     r"|include|send|enter|pass|put|provide|log|store|expose"
     r"|print|add|reveal)|don'?t (?:paste|share|include|send|enter|pass|put|provide)|without (?:the|any|your)|not"
     r" (?:sent|stored|shared|included|shown|returned|logged)"
     r"|never (?:leaves?|sent|stored|returned|logged|shown|exposed)|no \w+ (?:key|password|token) is)\b"),
)  # fmt: skip
"""Atoms by name."""
