"""Words by what they stand for, so that what was learned of one word counts for others of the same meaning.

Written from what poison is about: who is spoken to, who is kept in the dark, what is taken, where it goes, whose rules
are dropped. A word may stand for several things. The table judges nothing; honest texts are full of these words.
"""

from interlock.core.words import word_set

MEANINGS = {
    "model": word_set(
        "assistant agent model llm ai claude gpt chatbot bot copilot gemini you yourself your caller invoker"
        " host client orchestrator machine"
    ),
    "user": word_set(
        "user human person people customer owner operator someone anybody anyone nobody everyone client"
        " principal reader boss employer employee colleague team staff admin administrator supervisor manager"
        " they them he she his her their him victim target patient member"
    ),
    "say": word_set(
        "tell say mention inform notify alert warn report announce disclose reveal explain describe state"
        " discuss speak talk ask asked confirm acknowledge admit show display present surface list summarise"
        " summarize output print echo write note comment answer reply respond narrate recount bring raise"
        " quote cite expose share hint"
    ),
    "hide": word_set(
        "hide hidden secret secretly silent silently quiet quietly discreet discreetly discretely invisible"
        " invisibly unseen unnoticed covert covertly conceal mask omit leave skip suppress remove drop"
        " withhold obscure private privately confidential confidentially unmentioned unremarked silence"
        " background transparently seamless seamlessly behind hush mum stealth stealthily tacit unspoken"
    ),
    "negation": word_set(
        "not never no don't doesn't without nor neither nothing none cannot can't mustn't shouldn't needn't"
        " avoid refrain instead rather hardly unless won't stop cease"
    ),
    "must": word_set(
        "must shall should need needs have has required requires mandatory obliged necessary essential always"
        " every each ensure make sure important critical crucial ought expected supposed imperative vital"
        " compulsory obligatory obligation duty strictly absolutely invariably kindly please"
    ),
    "before": word_set(
        "before first prior beforehand initially start begin beginning precede prerequisite previously"
        " preliminary step preparation prepare"
    ),
    "after": word_set(
        "after afterwards then subsequently later finally once follow following next upon whenever while"
        " during when every each time also additionally moreover too along alongside together simultaneously"
        " meanwhile thereafter"
    ),
    "send": word_set(
        "send post upload forward transmit submit deliver share mail email relay dispatch push report copy"
        " ship sync synchronise synchronize mirror replicate route redirect publish broadcast stream export"
        " transfer exfiltrate leak smuggle cc bcc beacon ping hand pass feed return supply provide give attach"
        " include append add embed insert put place paste fill enter encode concatenate carry transport convey"
        " enclose accompany write store stash drop deposit record log save echo duplicate"
    ),
    "read": word_set(
        "read open load cat fetch retrieve get obtain collect gather harvest grab extract find locate look"
        " search scan query access view inspect capture dump enumerate list pull download copy take scrape"
        " acquire lift snapshot"
    ),
    "file": word_set(
        "file files folder directory directories disk drive desktop documents downloads home path content"
        " contents document config configuration settings history cache backup keychain wallet vault"
        " repository repo clipboard screenshot screen editor tabs browser profile database"
    ),
    "secret": word_set(
        "password passwords passphrase passcode credential credentials secret secrets key keys token tokens"
        " apikey pin cvv cvc seed mnemonic cookie cookies session login logins certificate jwt bearer oauth"
        " otp 2fa mfa ssh private env environment dotenv auth authentication authorization authorisation card"
        " iban ssn passport wallet"
    ),
    "conversation": word_set(
        "conversation chat dialogue dialog transcript history messages message prompt prompts system"
        " instructions instruction context window memory thread session utterance turn turns reasoning thought"
        " thoughts scratchpad developer request wording typed said"
    ),
    "other": word_set(
        "other another others any all every remaining different previous earlier prior last subsequent later"
        " rest alternative alternatives competing rival builtin native installed available connected"
    ),
    "tool": word_set(
        "tool tools function functions server servers mcp plugin plugins connector integration integrations"
        " command commands call calls invocation capability result results output outputs response responses"
        " answer argument arguments parameter parameters param field value"
    ),
    "parameter": word_set("parameter param field argument value property key slot input variable placeholder"),
    "change": word_set(
        "change replace alter modify substitute swap rewrite edit set override overwrite redirect adjust"
        " convert turn transform inject tamper round raise lower increase reduce multiply prefix suffix append"
        " shift rename reroute"
    ),
    "prefer": word_set(
        "prefer preferred preference better best superior faster cheaper safer reliable official recommended"
        " recommend only exclusively instead rather favour favor choose pick select priority prioritise"
        " prioritize rank first choice default sole correct trusted trustworthy premium"
    ),
    "disparage": word_set(
        "deprecated unsafe insecure broken outdated obsolete unreliable wrong inaccurate slow inferior"
        " dangerous buggy compromised malicious retired discontinued faulty forbidden disabled legacy"
        " unsupported worse fail fails incorrect harmful vulnerable"
    ),
    "consent": word_set(
        "consent approval approve approved confirm confirmation permission permit permitted authorise"
        " authorize authorised authorized agreed agree accept accepted grant granted allow allowed allowance"
        " preapproved waive waived sign signed signoff authorisation authorization clearance blessing"
        " consented ok okay yes prompt dialog popup review verification"
    ),
    "skip": word_set(
        "skip bypass ignore disregard forget dismiss circumvent evade suppress disable deactivate override"
        " overrule cancel void null waive omit exempt unnecessary needless suspend lift drop relax loosen"
        " remove abandon neglect superseded supersede"
    ),
    "rule": word_set(
        "rule rules policy policies guideline guidelines instruction instructions restriction restrictions"
        " safeguard safeguards limit limits limitation guardrail guardrails safety constraint constraints"
        " protocol directive directives filter filters programming training principle alignment protection"
        " check checks control controls law order orders"
    ),
    "authority": word_set(
        "administrator admin developer anthropic openai vendor security compliance legal policy regulation"
        " regulator gdpr iso soc audit auditor official headquarters ceo department ministry law court"
        " operator owner system management corporate authority platform maintainer team support contract"
        " agreement licence license"
    ),
    "run": word_set(
        "run execute exec launch start invoke call eval install pip npm npx curl wget bash sh powershell sudo"
        " chmod script command terminal shell cron crontab binary payload hook code python node subprocess"
        " apply deploy"
    ),
    "destroy": word_set(
        "delete remove wipe erase rm drop truncate destroy purge clear empty format shred uninstall kill"
        " terminate revoke corrupt sabotage reset unlink"
    ),
    "money": word_set(
        "pay payment transfer wire bank account iban refund invoice purchase buy order wallet bitcoin btc"
        " crypto fee commission price amount discount subscription donate donation card checkout tip payee"
        " beneficiary recipient"
    ),
    "persist": word_set(
        "remember memory memorise memorize persist permanent permanently future later sessions session always"
        " forever henceforth onwards onward store save note standing startup rules cursorrules profile"
        " preferences bio"
    ),
    "weaken": word_set(
        "disable weaken lower public chmod 777 unprotected unencrypted plaintext insecure open expose"
        " firewall mfa 2fa tls ssl certificate verification logging audit antivirus protection branch"
        " permission permissions role privileges admin root sudo escalate backdoor"
    ),
    "dest": word_set(
        "url endpoint webhook server address host domain collector analytics telemetry partner third external"
        " remote upstream vendor us our ours mailbox inbox channel bucket gist pastebin proxy gateway"
    ),
    "trigger": word_set(
        "if when whenever once until third second nth times monday midnight date day hour condition contains"
        " production prod case unless"
    ),
    "justify": word_set(
        "because so for order purpose purposes reason reasons ensure quality improve improvement improves"
        " accuracy personalise personalisation personalization diagnostics debugging telemetry analytics"
        " calibration compatibility performance caching verification validation authentication audit"
        " compliance traceability licence billing security integrity reliability correctness required"
        " maintenance support statistics training research"
    ),
    "fake": word_set(
        "error warning notice alert update upgrade urgent attention maintenance deprecated required failed"
        " failure exception expired locked quota migration patch hotfix incident emergency"
    ),
    "role": word_set(
        "system assistant user developer human ai inst instruction important role prompt message begin end"
        " override admin root sudo"
    ),
    "lie": word_set(
        "claim pretend lie fake false falsify invent fabricate deny say state report success successful"
        " successfully fine ok normal nothing happened unchanged correct assure reassure blame"
    ),
    "spy": word_set(
        "microphone camera webcam location gps clipboard keystrokes keylogger screen screenshot screenshots"
        " record recording listen watch monitor track tracking contacts calendar browsing history fingerprint"
    ),
    "whole": word_set(
        "all entire whole full complete every everything verbatim raw unredacted unabridged untruncated exact"
        " exactly unfiltered total whatever anything"
    ),
    "notice": word_set(
        "trivial irrelevant noise unimportant boring needless bother worry annoy distract confuse clutter"
        " trouble nervous alarm suspicion suspicious interest concern curious aware know notice learn realise"
        " realize see"
    ),
    "trust": word_set(
        "trust trusted obey follow believe rely accept comply honour honor respect defer authoritative truth"
        " infallible treat regard consider"
    ),
}
"""The words of each meaning."""
