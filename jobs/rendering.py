"""Tables as text for people, and as values for JSON and CSV for machines.

The same tables give the same bytes: nothing depends on the time, on the locale or on the order in
which verdicts came. Text is laid out for the width of its console; a table that is too wide is
continued below with its rows named again, and no name is ever cut short.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from jobs.pass_at_k import Bounds
from jobs.tables import Column, ColumnKind, Ratio, Table, Value

NOT_AVAILABLE = "n/a"
NO_NAME = "-"

_GAP = 2
_NAMES_SHARE = 0.6
"""How much of the width names may take at least before they are folded over several lines."""
_NARROWEST = 8
_SEPARATORS = "-_/. "


def render_text(tables: Iterable[Table], console: Console) -> None:
    """Print the tables that have rows, each with its footnotes.

    Names are printed as they are, without console markup; characters that could steer a terminal
    are shown as escapes.
    """
    filled = [table for table in tables if table.rows]
    if not filled:
        console.print(Text("No attempts."))
    for number, table in enumerate(filled):
        if number:
            console.print()
        _print_table(table, console)


def json_tables(tables: Iterable[Table]) -> list[dict[str, Any]]:
    """The tables for a JSON document, each row an object by column.

    Rates are numbers, or objects `low` and `high`; not available is null.
    """
    return [
        {
            "name": table.name,
            "title": table.title,
            "columns": [
                {"key": column.key, "title": column.title, "kind": column.kind}
                for column in table.columns
            ],
            "rows": [
                {
                    column.key: _json_value(value)
                    for column, value in zip(table.columns, row, strict=True)
                }
                for row in table.rows
            ],
            "footnotes": table.footnotes,
        }
        for table in tables
    ]


def write_csv(tables: Iterable[Table], folder: Path) -> list[Path]:
    """Write `<table>.csv` for each table, also for one without rows, and return the paths.

    The columns do not depend on the data. A rate has three: its value (empty when it is only
    known within bounds), `_low` and `_high`. A ratio has two: its count and `_of`. What is not
    available is empty.

    Raises:
        OSError: the folder or a file in it cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for table in tables:
        path = folder / f"{table.name}.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(name for column in table.columns for name in _csv_header(column))
            for row in table.rows:
                cells = zip(table.columns, row, strict=True)
                writer.writerow(field for cell in cells for field in _csv_fields(*cell))
        paths.append(path)
    return paths


def _print_table(table: Table, console: Console) -> None:
    console.print(Text(_printable(table.title), style="bold"))
    texts = [
        [_text(column, value) for column, value in zip(table.columns, row, strict=True)]
        for row in table.rows
    ]
    natural = [
        _natural_width(column, [row[index] for row in texts])
        for index, column in enumerate(table.columns)
    ]
    for number, (chosen, widths) in enumerate(_blocks(table.columns, natural, console.width)):
        if number:
            console.print()
        grid = RichTable(
            box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, _GAP - 1, 0, 0)
        )
        for index, width in zip(chosen, widths, strict=True):
            column = table.columns[index]
            grid.add_column(
                Text(_printable(column.title)),
                width=width,
                justify="left" if column.kind is ColumnKind.NAME else "right",
                overflow="fold",
                vertical="top",
            )
        for row in texts:
            cells = zip(chosen, widths, strict=True)
            grid.add_row(*(Text(_folded(row[index], width)) for index, width in cells))
        console.print(grid)
    for note in table.footnotes:
        console.print(Text(_printable(note), style="dim"))


def _blocks(
    columns: Sequence[Column], natural: Sequence[int], width: int
) -> Iterator[tuple[list[int], list[int]]]:
    """Columns that fit side by side, and their widths; the names come again in every block."""
    names = [index for index, column in enumerate(columns) if column.kind is ColumnKind.NAME]
    others = [index for index, column in enumerate(columns) if column.kind is not ColumnKind.NAME]
    name_widths = [natural[index] for index in names]
    if _taken(natural) > width:
        beside = width - sum(natural[index] + _GAP for index in others)
        name_widths = _narrowed(name_widths, max(beside, int(width * _NAMES_SHARE)))
    block: list[int] = []
    for index in others:
        if block and _taken([*name_widths, *(natural[i] for i in [*block, index])]) > width:
            yield [*names, *block], [*name_widths, *(natural[i] for i in block)]
            block = []
        block.append(index)
    yield [*names, *block], [*name_widths, *(natural[i] for i in block)]


def _narrowed(widths: list[int], room: int) -> list[int]:
    narrowed = list(widths)
    while _taken(narrowed) > room and max(narrowed) > _NARROWEST:
        narrowed[narrowed.index(max(narrowed))] -= 1
    return narrowed


def _folded(text: str, width: int) -> str:
    """Break into lines of at most `width` cells, after a separator where one is near the end."""
    lines = []
    while cell_len(text) > width:
        line = chop_cells(text, width)[0]
        end = 1 + max(line.rfind(separator) for separator in _SEPARATORS)
        if 2 * end < len(line):
            end = len(line)
        lines.append(text[:end])
        text = text[end:]
    return "\n".join([*lines, text])


def _taken(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _natural_width(column: Column, texts: Iterable[str]) -> int:
    words = _printable(column.title).split() or [""]
    return max(map(cell_len, [*words, *texts]))


def _text(column: Column, value: Value) -> str:
    match value:
        case None:
            return NO_NAME if column.kind is ColumnKind.NAME else NOT_AVAILABLE
        case Bounds(low, high):
            return f"{_percent(low)}-{_percent(high)}%"
        case Ratio(count, of):
            return f"{count}/{of}"
        case float():
            return f"{_percent(value)}%"
        case _:
            return _printable(str(value))


def _percent(rate: float) -> str:
    """One decimal; what is not quite none or all never looks like it."""
    text = f"{rate * 100:.1f}"
    if text == "0.0" and rate > 0:
        return "<0.1"
    if text == "100.0" and rate < 1:
        return ">99.9"
    return text


def _printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def _json_value(value: Value) -> Any:
    match value:
        case Bounds(low, high):
            return {"low": low, "high": high}
        case Ratio(count, of):
            return {"count": count, "of": of}
        case _:
            return value


def _csv_header(column: Column) -> list[str]:
    match column.kind:
        case ColumnKind.RATE:
            return [column.key, f"{column.key}_low", f"{column.key}_high"]
        case ColumnKind.RATIO:
            return [column.key, f"{column.key}_of"]
        case _:
            return [column.key]


def _csv_fields(column: Column, value: Value) -> list[str | int | float | None]:
    match value:
        case Bounds(low, high):
            return [None, low, high]
        case Ratio(count, of):
            return [count, of]
        case None:
            return [None] * len(_csv_header(column))
        case float():
            return [value, value, value]
        case _:
            return [value]
