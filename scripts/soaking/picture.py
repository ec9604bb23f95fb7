"""The result of a soak, for docs/performance.md: counts, changes of the figures, and curves."""

import json
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE, PICTURE = ROOT / "docs/performance.md", ROOT / "docs/soak.svg"
BEGIN, END = "<!-- soak: from here -->", "<!-- soak: to here -->"
# Minutes after which every event of the loads has happened once.
WARM = 30
# How many times larger a figure may be in the last fifth of the time than in the first fifth.
MOST_GROWTH = {"memory of its processes, MiB": 1.25, "descriptors": 1.1, "processes": 1,
               "programs, maps and links in the kernel": 1,
               "kernel memory that cannot be reclaimed, MiB": 1.25}
WIDTH, HEIGHT, GAP, LEFT = 720, 56, 34, 52


def read(folder):
    """The rows. A row that is mixed with a line of the kernel is left out."""
    rows = []
    for line in (folder / "soak.jsonl").read_text().splitlines():
        try:
            rows.append(json.loads(line))
        except ValueError:
            pass
    return rows


def wrong(rows):
    """What did not last, and what grew."""
    if not rows:
        return ["there is not one row"]
    said = [f"the load {name} has ended" for name in ended(rows)]
    if not all(row["same"] for row in rows):
        said.append("the unit was started anew")
    if not rows[-1]["counts"]["records that failed"]:
        said.append("the disk was never full")
    for name, most in MOST_GROWTH.items():
        first, last = fifths(rows, name)
        if last > first * most:
            said.append(f"{name} grew from {first:,g} to {last:,g}")
    return said


def ended(rows):
    """The loads that ended before the guest did."""
    return sorted({name for row in rows for name in row["ended"]})


def warm(rows):
    """The rows after WARM minutes, in which the unit could be inspected: a running unit has
    programs in the kernel, each with a descriptor."""
    def is_seen(figures):
        return figures["descriptors"] >= figures["programs, maps and links in the kernel"] > 0

    seen = [row for row in rows if is_seen(row["figures"])]
    return [row for row in seen if row["figures"]["minutes"] >= WARM] or seen or rows


def fifths(rows, name):
    """The median of a figure in the first fifth of the rows of `warm`, and in the last fifth."""
    values = [row["figures"][name] for row in warm(rows)]
    part = max(len(values) // 5, 1)
    return median(values[:part]), median(values[-part:])


def names(rows):
    return [name for name in rows[0]["figures"] if name not in ("minutes", "age of the figures, s")]


def svg(rows):
    """A curve for each figure, over the whole time."""
    drawn = names(rows)
    whole = GAP + len(drawn) * (HEIGHT + GAP)
    longest = rows[-1]["figures"]["minutes"]
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 20} {whole}" '
           f'width="{LEFT + WIDTH + 20}" height="{whole}" font-family="sans-serif" '
           'font-size="12">')
    yield f"<title>tailback watch over {longest / 60:.1f} hours</title>"
    for place, name in enumerate(drawn):
        values = [row["figures"][name] for row in rows]
        most, y = max(max(values), 1e-9) * 1.1, GAP + place * (HEIGHT + GAP)
        across = [LEFT + row["figures"]["minutes"] / longest * WIDTH for row in rows]
        up = [y + HEIGHT - value / most * HEIGHT for value in values]
        points = " ".join(f"{one:.1f},{other:.1f}" for one, other in zip(across, up))
        yield f'<rect x="{LEFT}" y="{y}" width="{WIDTH}" height="{HEIGHT}" fill="#f3f4f6"/>'
        yield f'<polyline points="{points}" fill="none" stroke="#1f6feb"/>'
        yield f'<text x="{LEFT}" y="{y - 5}">{escape(name)}</text>'
        for value, at in ((most / 1.1, y + 9), (0, y + HEIGHT)):
            yield f'<text x="{LEFT - 5}" y="{at:.0f}" text-anchor="end">{value:,.0f}</text>'
    yield f'<text x="{LEFT + WIDTH}" y="{whole - 8}" text-anchor="end">{longest / 60:.1f} h</text>'
    yield "</svg>"


def table(rows):
    yield f"| figure | least and most after {WARM} min | median of the first fifth | of the last |"
    yield "|---|---:|---:|---:|"
    for name in names(rows):
        values = [row["figures"][name] for row in warm(rows)]
        first, last = fifths(rows, name)
        yield f"| {name} | {min(values):,g} to {max(values):,g} | {first:,g} | {last:,g} |"


def median(values):
    return sorted(values)[len(values) // 2]


def which(rows):
    """The incidents by stall and program, if the guest names them."""
    told = {}
    for row in rows:
        for name in row.get("incidents", []):
            told[name] = told.get(name, 0) + 1
    all_of = sorted(told.items(), key=lambda one: -one[1])
    return f" ({', '.join(f'{name} {count}' for name, count in all_of)})" if told else ""


def times(count):
    return "once" if count == 1 else f"{count} times"


def text(rows):
    counts, last = rows[-1]["counts"], rows[-1]
    hours = last["figures"]["minutes"] / 60
    rate = {name: counts[name] / hours / 3600 for name in ("processes", "groups")}
    ages = [row["figures"]["age of the figures, s"] for row in rows]
    missed = ages.count(None)
    ages = sorted(age for age in ages if age is not None)
    kept = "It was the same process to the end." if all(row["same"] for row in rows) else (
        "It was started anew at least once.")
    early = f"These loads ended early: {', '.join(ended(rows))}. " if ended(rows) else ""
    yield (f"{hours:.1f} hours by the guest's clock, until {last['at'][:10]}. {kept} {early}"
           f"{counts['processes']:,} processes and {counts['groups']:,} control groups came and "
           f"went, {rate['processes']:.1f} and {rate['groups']:.1f} a second, "
           f"{counts['scrapes']:,} scrapes were answered and "
           f"{counts['scrapes that failed']:,} were not, {counts['slow clients']:,} clients asked "
           f"a byte a second, a CPU was offline {times(counts['CPU offline'])}, the clock was "
           f"set {times(counts['clock set'])}. {counts['incidents']} incidents were "
           f"told{which(rows)}. {counts['records']} records were written and "
           f"{counts['records that failed']} were not, because their disk was full. At "
           f"{len(ages)} looks the last answer's figures had been {ages[len(ages) // 2]:.1f} s old "
           f"in the middle and {ages[-1]:.1f} s at most; at {missed} there was no answer.")
    yield ""
    yield from table(rows)
    yield ""
    yield "![each figure over the hours](soak.svg)"


def write(folder):
    rows = read(Path(folder))
    PICTURE.write_text("\n".join(svg(rows)) + "\n")
    before, rest = PAGE.read_text().split(BEGIN)
    lines = "\n".join(text(rows))
    PAGE.write_text(f"{before}{BEGIN}\n\n{lines}\n\n{END}{rest.split(END)[1]}")
