#!/usr/bin/env python3
"""Keep rare, damaging lines of a VEP --tab file; write them with the header."""
import argparse
import csv
import sys

KEEP = {"HIGH", "MODERATE"}


def number(text):
    try:
        return float(text)
    except ValueError:
        return None


def wanted(row, max_af):
    for key, value in row.items():
        if key.startswith("gnomAD") and key.endswith("_AF"):
            af = number(value)
            if af is not None and af > max_af:
                return False
    splice = [number(v) or 0 for k, v in row.items() if k.startswith("SpliceAI_pred_DS_")]
    return row.get("IMPACT") in KEEP or max(splice, default=0) >= 0.2


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tsv")
    parser.add_argument("--max-af", type=float, default=0.001)
    args = parser.parse_args()
    with open(args.tsv, newline="") as f:
        lines = (line for line in f if not line.startswith("##"))
        rows = csv.DictReader((line.lstrip("#") for line in lines), delimiter="\t", quoting=csv.QUOTE_NONE)
        out = csv.DictWriter(sys.stdout, rows.fieldnames, delimiter="\t", lineterminator="\n",
                             quoting=csv.QUOTE_NONE, quotechar=None)
        out.writeheader()
        for row in rows:
            if wanted(row, args.max_af):
                out.writerow(row)


if __name__ == "__main__":
    main()
