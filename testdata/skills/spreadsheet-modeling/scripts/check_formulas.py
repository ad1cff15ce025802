"""Report error values and broken formula rows of an .xlsx; exit 1 if any."""
import re
import sys

from openpyxl import load_workbook
from openpyxl.utils import column_index_from_string

ERRORS = {"#REF!", "#DIV/0!", "#NAME?", "#VALUE!", "#N/A", "#NUM!", "#NULL!", "#SPILL!"}
CELL = re.compile(r"(?<![A-Za-z_!$])([A-Z]{1,3})(\$?\d+)\b")


def pattern(cell):
    """The formula with relative columns written as offsets from the cell."""
    def relative(m):
        return f"[{column_index_from_string(m[1]) - cell.column:+d}]{m[2]}"
    return CELL.sub(relative, cell.value)


def error_values(path):
    for sheet in load_workbook(path, data_only=True):
        for row in sheet.iter_rows():
            for cell in row:
                if cell.value in ERRORS:
                    yield f"{sheet.title}!{cell.coordinate}: {cell.value}"


def broken_rows(path):
    for sheet in load_workbook(path):
        for row in sheet.iter_rows():
            cells = [c for c in row if isinstance(c.value, str) and c.value.startswith("=")]
            for left, right in zip(cells, cells[1:]):
                if right.column == left.column + 1 and pattern(left) != pattern(right):
                    yield f"{sheet.title}!{right.coordinate}: formula differs from {left.coordinate}"


def main(path):
    findings = [*error_values(path), *broken_rows(path)]
    print("\n".join(findings) or "no findings")
    return 1 if findings else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: check_formulas.py workbook.xlsx")
    sys.exit(main(sys.argv[1]))
