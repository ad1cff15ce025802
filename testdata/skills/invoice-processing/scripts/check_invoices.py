#!/usr/bin/env python3
"""Check a CSV with columns supplier,number,date,due,net,tax,gross."""
import csv
import re
import sys
from datetime import date
from decimal import Decimal

TOLERANCE = Decimal("0.02")


def key(row):
    number = re.sub(r"[^A-Z0-9]", "", row["number"].upper())
    number = re.sub(r"(?<!\d)0+(?=\d)", "", number)
    return row["supplier"].strip().lower(), number


def findings(rows):
    seen = {}
    for line, row in enumerate(rows, start=2):
        net, tax, gross = (Decimal(row[c]) for c in ("net", "tax", "gross"))
        if abs(net + tax - gross) > TOLERANCE:
            yield f"line {line}: {net} + {tax} is not {gross}"
        if date.fromisoformat(row["due"]) < date.fromisoformat(row["date"]):
            yield f"line {line}: due before it was issued"
        if key(row) in seen:
            yield f"line {line}: same supplier and number as line {seen[key(row)]}"
        seen.setdefault(key(row), line)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: check_invoices.py invoices.csv")
    with open(sys.argv[1], newline="", encoding="utf-8-sig") as f:
        found = list(findings(csv.DictReader(f)))
    print("\n".join(found) or "no findings")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
