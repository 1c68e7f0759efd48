"""The style sheet of a page: light and dark ground, telephones, paper."""

from __future__ import annotations

from mastd.report.drawing.tones import RUNS, TONES, VERDICTS

_SHEET = """
*{box-sizing:border-box}
body{margin:0 auto;padding:1.2rem;max-width:68rem;background:var(--page);color:var(--words);
font:15px/1.45 system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
h1{font-size:1.7rem;line-height:1.2;margin:0;overflow-wrap:anywhere}
h2{font-size:1.15rem;margin:2rem 0 .6rem;padding-bottom:.25rem;border-bottom:1px solid var(--edge)}
h3{font-size:1rem;margin:1rem 0 .4rem}
header{display:flex;gap:1rem;align-items:flex-start;justify-content:space-between;flex-wrap:wrap}
header div{flex:1 1 20rem;min-width:0}
header p{margin:.35rem 0 0;color:var(--quiet);overflow-wrap:anywhere}
.verdict{font-size:1.5rem;font-weight:700;padding:.1rem .9rem;border:2px solid;border-radius:.5rem}
.good{color:var(--good)}.bad{color:var(--bad)}.warn{color:var(--warn)}
p{margin:.5rem 0;max-width:60rem;color:var(--quiet);font-size:.9rem}
p.warning{color:var(--words);border-left:4px solid var(--warn);background:var(--raised);padding:.45rem .8rem;
font-size:1rem}
.wide{overflow-x:auto}
table{border-collapse:collapse;margin:.5rem 0;font-size:.92rem}
th,td{text-align:left;vertical-align:top;padding:.22rem .9rem .22rem 0;border-bottom:1px solid var(--grid);
overflow-wrap:anywhere}
th{color:var(--quiet);font-weight:600;overflow-wrap:normal}
table.numbers td:not(:first-child),table.numbers th:not(:first-child){text-align:right;
font-variant-numeric:tabular-nums}
table.numbers td{white-space:nowrap}
table.numbers th{vertical-align:bottom}
dl{display:grid;grid-template-columns:minmax(9rem,auto) 1fr;gap:.2rem 1rem;margin:.5rem 0;font-size:.92rem}
dt{color:var(--quiet)}
dd{margin:0;min-width:0;overflow-wrap:anywhere}
pre{overflow-x:auto;background:var(--raised);padding:.8rem;font-size:.8rem;border-radius:.3rem}
details{margin:.6rem 0}
summary{cursor:pointer;color:var(--event)}
.pictures{display:flex;flex-wrap:wrap;gap:.4rem 0;justify-content:space-between;margin:.5rem 0}
.pictures>div{overflow-x:auto;max-width:100%}
.pictures>.w{flex:0 0 67%}.pictures>.n{flex:0 0 32.5%}
svg{display:block;width:100%;height:auto}
svg text{font-family:inherit}
.l{fill:none;stroke-linejoin:round;stroke-linecap:round}
.dashed{stroke-dasharray:6 4}.dotted{stroke-dasharray:1.5 3}
footer{margin-top:2rem;color:var(--quiet);font-size:.8rem}
.beside{display:grid;grid-template-columns:1fr 1fr;gap:0 2.5rem}
.beside>section{min-width:0}
.beside h2:first-child{margin-top:1.6rem}
@media(max-width:48rem){
body{padding:.8rem}
.beside{grid-template-columns:1fr}
dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.4rem}
.pictures>.w,.pictures>.n{flex:0 0 100%}
.pictures>.w svg{min-width:34rem}}
@media print{
@page{size:A4;margin:12mm}
body{padding:0;max-width:none;font-size:9pt}
h2{break-after:avoid;margin-top:1rem}
.pictures>div,tr,dl,header{break-inside:avoid}
.wide,.pictures>div,pre{overflow:visible}
pre{white-space:pre-wrap;background:none;padding:0}
summary{list-style:none;color:inherit;font-weight:600}
details::details-content{content-visibility:visible;display:block}}
"""


def style_sheet() -> str:
    """Return the style sheet with the colours of all tones, for light and for dark screens."""
    rules = []
    for tone in TONES:
        rules.append(f".l.{tone}{{stroke:var(--{tone})}}.f.{tone}{{fill:var(--{tone})}}")
    rules += [f"td.{tone}{{color:var(--{tone});font-weight:700}}" for tone in RUNS]
    light = _variables(0) + "--page:#fff;--raised:#f5f6f8;--edge:#c8ccd2"
    dark = _variables(1) + "--page:#14181d;--raised:#1d232a;--edge:#3a424b"
    return (
        f":root{{color-scheme:light dark;{light}}}"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}" + "".join(rules) + _SHEET
    )


def _variables(ground: int) -> str:
    return "".join(f"--{tone}:{colours[ground]};" for tone, colours in (TONES | VERDICTS).items())
