"""Shapes of the tables in docs/appendices: each function makes one table from the committed results."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from table_parts import (
    SETS,
    Study,
    ahead_by,
    cell,
    counted,
    gap,
    level,
    markdown,
    p_value,
    paired_with,
    set_title,
    short_number,
    short_title,
    title_of,
    wins_and_losses,
    with_interval,
)
from tables import METRIC, mean_gap, saved


class Row(NamedTuple):
    """One line of a table: its title, the results and the rule."""

    title: str
    study: Study
    rule: str


def strategies(study: Study, *parts: str, mean: bool = False) -> str:
    """A row for each rule: what it is worth on each set, and the paper's count."""
    curves, results = study.by_set, study.results
    sets = [name for name in SETS if name in curves]
    head = ["strategy", *map(set_title, sets), *(["mean gain"] if mean else []), "wins", "losses"]
    rows = [
        [
            title_of(rule),
            *(cell(curves[name], rule, parts) for name in sets),
            *([mean_gap(results, results.curves, rule, METRIC)] if mean else []),
            str(wins),
            str(losses),
        ]
        for rule, (wins, losses) in wins_and_losses(results).items()
    ]
    return markdown(head, rows)


def fresh_default(study: Study) -> str:
    """Labels saved on each set, the mean gain in area with its interval, and the count."""
    curves, results = study.by_set, study.results
    sets = [name for name in SETS if name in curves]
    tests = paired_with(results, "random")
    rows = []
    for rule, (wins, losses) in wins_and_losses(results).items():
        ahead = "" if rule == "random" else with_interval(*ahead_by(tests[rule], rule))
        shares = (cell(curves[name], rule, ["saved"]) for name in sets)
        rows.append([title_of(rule), *shares, ahead, str(wins), str(losses)])
    return markdown(["strategy", *map(set_title, sets), "mean gain", "wins", "losses"], rows)


def one_set(study: Study, *, with_saving: bool) -> str:
    """A row for each rule, of results on one set."""
    ((_, curves),) = study.by_set.items()
    rows = []
    for rule, (wins, losses) in wins_and_losses(study.results).items():
        other = rule != "random"
        values = [level(curves[rule]), gap(curves[rule], curves["random"]) if other else ""]
        values += [saved(curves[rule], curves["random"]) if other else ""] if with_saving else []
        rows.append([title_of(rule), *values, str(wins), str(losses)])
    head = ["strategy", "F1", "against random", *(["labels saved"] if with_saving else []), "wins", "losses"]
    return markdown(head, rows)


def rows_by_set(rows: Sequence[Row], *parts: str, goals: Sequence[int | None] = (), first: str = "") -> str:
    """A row for each study, of one rule in each: what it is worth on each set."""
    found = [row.study.by_set for row in rows]
    sets = [name for name in SETS if any(name in curves for curves in found)]
    lines = [
        [row.title, *(cell(curves[name], row.rule, parts, goal) if name in curves else "" for name in sets)]
        for row, curves, goal in zip(rows, found, goals or [None] * len(rows), strict=True)
    ]
    return markdown([first, *map(set_title, sets)], lines)


def sizes(studies: dict[int, Study], *parts: str) -> str:
    """Rows for each batch size and rule."""
    lines = []
    sets = [name for name in SETS if any(name in study.by_set for study in studies.values())]
    for size, study in studies.items():
        curves = study.by_set
        for rule, (wins, losses) in wins_and_losses(study.results).items():
            values = (cell(curves[name], rule, parts) if name in curves else "" for name in sets)
            lines.append([str(size), title_of(rule), *values, str(wins), str(losses)])
    return markdown(["B", "strategy", *map(set_title, sets), "wins", "losses"], lines)


def matrix(study: Study, metric: str = METRIC, *, area: bool = False) -> str:
    """How often each rule beats each other."""
    results = study.results
    count = counted(results, metric)
    tests = paired_with(results, "random", metric) if area else {}
    head = ["", *map(short_title, count.names), "wins", "losses"]
    rows = []
    for place, (name, wins) in enumerate(zip(count.names, count.wins, strict=True)):
        cells = ["" if other == place else str(value) for other, value in enumerate(wins)]
        end = [with_interval(*ahead_by(tests[name], name)) if name in tests else ""] if area else []
        rows.append([title_of(name), *cells, str(count.totals[place]), str(count.wins[:, place].sum()), *end])
    return markdown([*head, *(["area against random (95 %)"] if area else [])], rows)


def paired(study: Study, rule: str, metric: str = METRIC) -> str:
    """How far one rule is ahead of each other, seed by seed, the largest lead first."""
    found = [(other, test, *ahead_by(test, rule)) for other, test in paired_with(study.results, rule, metric).items()]
    rows = [
        [title_of(other), with_interval(by, ends), p_value(test.p), p_value(test.corrected)]
        for other, test, by, ends in sorted(found, key=lambda row: -row[2])
    ]
    return markdown([f"`{rule}` is ahead of", "by", "p", "corrected"], rows)


def ahead_of_random(study: Study) -> str:
    """How far each rule is ahead of random, seed by seed."""
    found = [(rule, test, *ahead_by(test, rule)) for rule, test in paired_with(study.results, "random").items()]
    rows = [
        [title_of(rule), with_interval(by, ends), p_value(test.p), p_value(test.corrected)]
        for rule, test, by, ends in sorted(found, key=lambda row: -row[2])
    ]
    return markdown(["ahead of random", "by", "p", "corrected"], rows)


def one_pair(rows: Sequence[Row], other: str, first: str) -> str:
    """How far the rule of each row is ahead of another, seed by seed."""
    lines = []
    for row in rows:
        test = paired_with(row.study.results, row.rule)[other]
        lines.append([row.title, with_interval(*ahead_by(test, row.rule)), p_value(test.p), p_value(test.corrected)])
    return markdown([first, "by", "p", "corrected"], lines)


def counts(rows: Sequence[Row], metrics: dict[str, str]) -> str:
    """Wins and losses of each row, by measure."""
    lines = []
    for row in rows:
        found = [wins_and_losses(row.study.results, metric)[row.rule] for metric in metrics]
        lines.append([row.title, *(f"{wins} and {losses}" for wins, losses in found)])
    return markdown(["wins and losses", *metrics.values()], lines)


def duels(rows: Sequence[Row], rivals: Sequence[str]) -> str:
    """Wins of each row against single rivals, and against all."""
    lines = []
    for row in rows:
        count = counted(row.study.results)
        ours = count.names.index(row.rule)
        against = [
            f"{count.wins[ours, count.names.index(rival)]} to {count.wins[count.names.index(rival), ours]}"
            if rival in count.names and rival != row.rule
            else ""
            for rival in rivals
        ]
        lines.append([row.title, *against, f"{count.totals[ours]} to {count.wins[:, ours].sum()}"])
    return markdown(["wins to losses against", *map(title_of, rivals), "all"], lines)


def random_levels(rows: Sequence[Row], first: str) -> str:
    """The mean F1 over the curve of random labels."""
    found = [row.study.by_set for row in rows]
    sets = [name for name in SETS if name in found[0]]
    lines = [
        [row.title, *(short_number(f"{curves[name]['random'].values_of(METRIC).mean():.3f}") for name in sets)]
        for row, curves in zip(rows, found, strict=True)
    ]
    return markdown([first, *map(set_title, sets)], lines)


def by_study(studies: dict[str, Study], metric: str) -> str:
    """The difference to random over all settings of each study, the best of the fifth column first."""
    found = [study.results for study in studies.values()]
    rules = {rule for results in found for rule in results.contestants} - {"random"}
    cells = {rule: [mean_gap(results, results.curves, rule, metric) for results in found] for rule in rules}
    middle = list(studies).index("all four")

    def first(rule: str) -> float:
        return float(cells[rule][middle].split(" ")[0])

    levels = []
    for results in found:
        values = [curves["random"].values_of(metric).mean() for curves in results.curves.values()]
        levels.append(short_number(f"{np.mean(values):.4f}"))
    rows = [["random", *levels], *([title_of(rule), *cells[rule]] for rule in sorted(rules, key=first))]
    return markdown(["against random", *studies], rows)


def by_classes(studies: Sequence[Study], rules: Sequence[str]) -> str:
    """Random's level, and what each rule gains and saves, by the number of classes."""
    lines = {}
    for study in studies:
        for place, curves in study.results.curves.items():
            classes = int("".join(filter(str.isdigit, set_title(place.dataset))) or 77)
            lines[classes] = [
                str(classes),
                level(curves["random"]),
                *(cell(curves, rule, ["gap", "saved"]) for rule in rules),
            ]
    return markdown(["classes", "random", *map(title_of, rules)], [lines[classes] for classes in sorted(lines)])


def against_random_elsewhere(study: Study, baseline: Study) -> str:
    """Labels saved on the way to what random reaches on other vectors; random's own row is the vectors alone."""
    curves, before = study.by_set, baseline.by_set
    sets = [name for name in SETS if name in curves]
    rules = [rule for rule in wins_and_losses(study.results) if rule != "random"]
    rows = [[title_of(rule), *(saved(curves[name][rule], before[name]["random"]) for name in sets)] for rule in rules]
    rows.append(
        ["random: the vectors alone", *(saved(curves[name]["random"], before[name]["random"]) for name in sets)]
    )
    return markdown(["strategy", *map(set_title, sets)], rows)
