"""The looks of the HTML report. They are ours alone: nothing of a run is ever put into them."""

STYLE = """
:root { --back: #f7f8fa; --card: #fff; --text: #16191f; --quiet: #59606d; --edge: #d8dce3; --badge: #e8ebf0;
  --high: #b3261e; --medium: #8a5300; --low: #1d5fa8; --ok: #2e8b57; --warn: #d08a00; --bad: #c8372d; --off: #8a93a3;
  --odd: #7a4fc0; }
@media (prefers-color-scheme: dark) { :root { --back: #111418; --card: #1a1e24; --text: #e8eaee; --quiet: #a2a9b5;
  --edge: #343a44; --badge: #2a303a; --high: #ff8a80; --medium: #f2b45c; --low: #82b8f5; --ok: #58c088; --warn: #eab04a;
  --bad: #f07167; --off: #7c8698; --odd: #b095ea; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 68rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2rem 0 .75rem; }
h3 { font-size: 1rem; margin: 0 0 .4rem; overflow-wrap: anywhere; }
p { margin: 0 0 .5rem; overflow-wrap: anywhere; }
code { font: .9em/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }
.over { color: var(--quiet); font-size: .8rem; letter-spacing: .06em; text-transform: uppercase;
  margin: 1rem 0 .25rem; }
.quiet, figcaption { color: var(--quiet); font-size: .875rem; }
.card { background: var(--card); border: 1px solid var(--edge); border-radius: .6rem; padding: .8rem 1rem;
  margin: 0 0 .75rem; }
.card > :last-child { margin-bottom: 0; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(7.5rem, 1fr)); gap: .6rem; margin: 1rem 0; }
.facts div { background: var(--card); border: 1px solid var(--edge); border-radius: .6rem; padding: .5rem .8rem; }
dt { color: var(--quiet); font-size: .8rem; } dd { margin: 0; font-size: 1.4rem; font-weight: 600; }
.badge { display: inline-block; background: var(--badge); border-radius: .35rem; padding: 0 .5em; font-size: .85em;
  font-weight: 600; }
.high { color: var(--high); } .medium { color: var(--medium); } .low { color: var(--low); }
.seen { margin: 0 0 .5rem; padding: .4rem .8rem .4rem 1.6rem; border-left: 3px solid var(--edge); }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(14rem, 1fr)); gap: .5rem 1.5rem; }
figure { margin: 0; } figure svg { display: block; width: 100%; height: 1.5rem; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1rem; padding: 0; margin: 0 0 .3rem; list-style: none;
  font-size: .875rem; }
.axis { stroke: var(--edge); stroke-width: 1; }
.o-ok { fill: var(--ok); } .o-tool-error { fill: var(--warn); } .o-rpc-error { fill: var(--low); }
.o-refused { fill: var(--off); } .o-crash { fill: var(--bad); } .o-hang { fill: var(--odd); }
.o-protocol, .o-other { fill: var(--text); }
.table { overflow-x: auto; background: var(--card); border: 1px solid var(--edge); border-radius: .6rem; }
.table:focus-visible { outline: 3px solid var(--low); outline-offset: 2px; }
table { border-collapse: collapse; width: 100%; font-size: .875rem; }
th, td { text-align: left; padding: .35rem .8rem; border-bottom: 1px solid var(--edge); white-space: nowrap; }
tbody tr:last-child td { border-bottom: 0; }
@media print { body { background: #fff; } .card { break-inside: avoid; } }
"""
