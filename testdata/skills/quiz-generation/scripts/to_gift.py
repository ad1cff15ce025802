#!/usr/bin/env python3
"""Turn "? stem / * right / - wrong # feedback" items into Moodle's GIFT format."""
import re
import sys


def escape(text):
    return re.sub(r"([~=#{}:\\])", r"\\\1", text.strip())


def option(mark, text):
    answer, _, feedback = text.partition(" # ")
    line = ("=" if mark == "*" else "~") + escape(answer)
    return line + (" #" + escape(feedback) if feedback else "")


def items(lines):
    item = None
    for number, line in enumerate(lines, start=1):
        mark, text = line[:1], line[1:].strip()
        if not line.strip():
            continue
        if mark == "?":
            if item:
                yield item
            item = (number, text, [])
        elif mark in "*-" and item:
            item[2].append((mark, text))
        else:
            sys.exit(f"line {number}: cannot read {line.strip()!r}")
    if item:
        yield item


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: to_gift.py items.txt")
    with open(sys.argv[1], encoding="utf-8") as f:
        for number, stem, options in items(f):
            if sum(mark == "*" for mark, _ in options) != 1:
                sys.exit(f"line {number}: want exactly one option marked *")
            print(f"::Q{number}:: {escape(stem)} {{")
            for mark, text in options:
                print("\t" + option(mark, text))
            print("}\n")


if __name__ == "__main__":
    main()
