"""The results of scripts/dose, as a table and a picture."""

import math
import os
import time
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE, PICTURE = ROOT / "docs/watch.md", ROOT / "docs/dose.svg"
BEGIN, END = "<!-- dose: from here -->", "<!-- dose: to here -->"

# Findings without a load of known size here, and the reason.
LEFT_OUT = (
    ("memory-high", "it needs the memory controller of cgroup v2, which this machine does not have"),
    ("group-move", "the kernel decides how long a move takes, and no load changes it"),
    ("io-journal", "it needs the io controller of cgroup v2, which this machine does not have"),
    ("busy-wait", "how much an Erlang VM spins for the same work differs several times over from start to start"),
    ("beside an idle CPU", "to keep work there, load balancing has to be switched off for the whole machine"),
)


def median(numbers):
    return sorted(numbers)[len(numbers) // 2]


def is_found(one):
    return one["answer"] == "finding"


def short(one):
    """One run in one line."""
    what = f"{one['finding']}, {one['wanted']} times"
    if "failed" in one:
        return f"{what}: failed: {one['failed']}"
    missed = f", missed {len(one['missed'])} times before" if one["missed"] else ""
    return f"{what}: truly {one['dose']:.2f}: {one['answer']}{missed}{'' if one['quiet'] else ', not quiet'}"


def of_dose(seen, kind, dose):
    return [one for one in seen if one["finding"] == kind.name and one["wanted"] == dose and "answer" in one]


def doses_of(seen):
    return sorted({one["wanted"] for one in seen})


def failed(seen, kind, dose):
    return sum(one["finding"] == kind.name and one["wanted"] == dose and "failed" in one
               for one in seen)


def cell(runs, failures):
    """How many runs were found, their true doses, what watch said about the others, and how many
    runs failed, which have no dose."""
    end = f", {failures} failed" if failures else ""
    if not runs:
        return f"-{end}"
    true = sorted(one["dose"] for one in runs)
    spread = f"{true[0]:.2f}" if len(true) == 1 else f"{true[0]:.2f} to {true[-1]:.2f}"
    text = f"{sum(map(is_found, runs))} of {len(runs)} ({spread})"
    others = sorted({one["answer"] for one in runs if not is_found(one)} - {"no"})
    return text + "".join(f", {sum(one['answer'] == name for one in runs)} {name}" for name in others) + end


def table(seen, chosen):
    """The table, in Markdown."""
    doses = doses_of(seen)
    yield "| finding | limit | " + " | ".join(f"{dose} times" for dose in doses) + " |"
    yield "|---|---:|" + "---|" * len(doses)
    for kind in chosen:
        cells = " | ".join(cell(of_dose(seen, kind, dose), failed(seen, kind, dose)) for dose in doses)
        limit = f"{kind.limit:g} {kind.unit}".strip()
        yield f"| {kind.name} | {limit} | {cells} |"
    yield ""
    yield "| finding | what its true size is | its other limits in these loads |"
    yield "|---|---|---|"
    yield from (f"| {kind.name} | {kind.truth} | {kind.other} |" for kind in chosen)
    yield ""
    made = [one for one in seen if "answer" in one]
    missed = sum(len(one["missed"]) for one in seen)
    off = sum(abs(one["dose"] / one["wanted"] - 1) > 0.15 for one in made)
    yield (f"{missed} runs missed their dose by more than 15% and were made again; {off} of the runs above still do."
           f" {len(seen) - len(made)} runs failed. Runs in which somebody else used the machine:"
           f" {sum(not one['quiet'] for one in seen)}.")
    yield ""
    yield "Left out: " + "; ".join(f"{name}, because {why}" for name, why in LEFT_OUT) + "."


# The picture: a panel for each finding. The axis of the dose is logarithmic, from FROM to TO.
FROM, TO = 0.35, 2.9
COLUMNS, WIDTH, HEIGHT, PLOT_W, PLOT_H = 4, 240, 150, 186, 66
# EDGE is the space for the strokes of the runs, above and below.
LEFT, TOP, EDGE = 44, 40, 14


def panel(kind, seen, doses, place):
    """A panel: the share found at each dose, and each run at its true dose."""
    x0, y0 = place[0] + LEFT, place[1] + TOP

    def x(dose):
        return x0 + PLOT_W * math.log(min(max(dose, FROM), TO) / FROM) / math.log(TO / FROM)

    def y(share):
        return y0 + PLOT_H * (1 - share)
    yield f'<text class="name" x="{x0}" y="{y0 - EDGE - 8}">{escape(kind.name)}</text>'
    yield f'<rect class="plot" x="{x0}" y="{y0 - EDGE}" width="{PLOT_W}" height="{PLOT_H + 2 * EDGE}"/>'
    yield f'<line class="limit" x1="{x(1):.1f}" x2="{x(1):.1f}" y1="{y0 - EDGE}" y2="{y0 + PLOT_H + EDGE}"/>'
    for share in (0, 0.5, 1):
        yield f'<text class="tick" x="{x0 - 6}" y="{y(share) + 4:.1f}" text-anchor="end">{share:.0%}</text>'
    for dose in doses:
        yield f'<text class="tick" x="{x(dose):.1f}" y="{y0 + PLOT_H + EDGE + 13}" text-anchor="middle">{dose:g}</text>'
    points = []
    for dose in doses:
        runs = of_dose(seen, kind, dose)
        if runs:
            points.append((x(median([one["dose"] for one in runs])), y(sum(map(is_found, runs)) / len(runs))))
        for one in runs:
            # Found runs are at the top, others at the bottom.
            edge, length = (y0 - EDGE, 8) if is_found(one) else (y0 + PLOT_H + EDGE, -8)
            at = f"{x(one['dose']):.1f}"
            yield f'<line class="run" x1="{at}" x2="{at}" y1="{edge}" y2="{edge + length}"/>'
    if points:
        yield '<polyline class="share" points="' + " ".join(f"{a:.1f},{b:.1f}" for a, b in points) + '"/>'
    for a, b in points:
        yield f'<circle class="point" cx="{a:.1f}" cy="{b:.1f}" r="3.5"/>'


def picture(seen, chosen, doses):
    """The picture as an SVG, with text as text."""
    rows = math.ceil(len(chosen) / COLUMNS)
    width, height = COLUMNS * WIDTH + 10, rows * HEIGHT + 44
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
    yield "<title>Share of runs in which tailback watch found a stall, against its size</title>"
    yield ("<style>text{font-family:sans-serif;fill:#222}.name{font-size:12px;font-weight:bold}"
           ".tick,.note{font-size:10px;fill:#555}.plot{fill:#f7f7f7;stroke:#bbb}"
           ".limit{stroke:#999;stroke-dasharray:3 3}.run{stroke:#c2410c;stroke-width:1.5}"
           ".share{fill:none;stroke:#1d4ed8;stroke-width:1.5}.point{fill:#1d4ed8}</style>")
    yield f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    for number, kind in enumerate(chosen):
        yield from panel(kind, seen, doses, (number % COLUMNS * WIDTH, number // COLUMNS * HEIGHT))
    yield (f'<text class="note" x="{LEFT}" y="{height - 16}">Across: true size of the stall, in multiples of the limit'
           " (dashed). Up: share of the runs in which it was found. Each stroke is a run: at the top if it was"
           " found, at the bottom if not.</text>")
    yield "</svg>"


def check_place(end):
    page = PAGE.read_text()
    for mark in (BEGIN, END):
        if mark not in page:
            end(f"{PAGE} has no place for the table: {mark}", 2)


def write(seen, chosen, doses, seconds, seed):
    PICTURE.write_text("\n".join(picture(seen, chosen, doses)) + "\n")
    text = (f"Linux {os.uname().release}, {os.cpu_count()} CPUs, {len(seen)} runs of {seconds} s, seed {seed},"
            f" {time.strftime('%F')}. Each cell: runs found, their true doses from the smallest to the largest, and"
            f" other answers than *no*:\n\n" + "\n".join(table(seen, chosen)))
    before, rest = PAGE.read_text().split(BEGIN, 1)
    PAGE.write_text(f"{before}{BEGIN}\n\n![share found against the size of the stall](dose.svg)\n\n{text}\n\n"
                    f"{END}{rest.split(END, 1)[1]}")
