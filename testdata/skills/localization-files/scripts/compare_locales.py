#!/usr/bin/env python3
"""Compare JSON message catalogs with the first one, the source locale."""
import json
import re
import sys

PLACEHOLDER = re.compile(r"\{\{?\s*([\w.]+)|%(?:\d+\$)?[@sd]|%\((\w+)\)s")
PLURAL = re.compile(r"_(zero|one|two|few|many|other)$")


def flatten(value, prefix=""):
    if isinstance(value, dict):
        out = {}
        for key, child in value.items():
            out.update(flatten(child, f"{prefix}.{key}" if prefix else key))
        return out
    return {prefix: str(value)}


def placeholders(text):
    return sorted(m.group(0).replace(" ", "") for m in PLACEHOLDER.finditer(text))


def findings(source, target):
    plurals = {PLURAL.sub("", k) for k in source if PLURAL.search(k)}
    for key in sorted(source.keys() - target.keys()):
        if PLURAL.sub("", key) not in plurals or key.endswith("_other"):
            yield f"missing: {key}"
    for key in sorted(target.keys() - source.keys()):
        if PLURAL.sub("", key) not in plurals:
            yield f"not in source: {key}"
    for key in sorted(source.keys() & target.keys()):
        if target[key] and placeholders(source[key]) != placeholders(target[key]):
            yield f"placeholders differ: {key}"
        elif source[key] == target[key] and " " in source[key]:
            yield f"untranslated: {key}"


def load(path):
    with open(path, encoding="utf-8") as f:
        return flatten(json.load(f))


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: compare_locales.py source.json target.json ...")
    source, bad = load(sys.argv[1]), False
    for path in sys.argv[2:]:
        for text in findings(source, load(path)):
            print(f"{path}: {text}")
            bad = True
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
