#!/usr/bin/env python3
"""Report labels, references and citations of a LaTeX file that do not match."""
import re
import sys
from pathlib import Path


def strip_comments(text):
    return re.sub(r"(?<!\\)%.*", "", text)


def read(path, seen):
    if path in seen or not path.exists():
        return ""
    seen.add(path)
    text = strip_comments(path.read_text(encoding="utf-8"))
    for name in re.findall(r"\\(?:input|include)\{([^}]+)\}", text):
        child = path.parent / name
        text += read(child if child.suffix else child.with_suffix(".tex"), seen)
    return text


def keys(pattern, text):
    return {k.strip() for group in re.findall(pattern, text) for k in group.split(",")}


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: check_refs.py main.tex [refs.bib ...]")
    tex = read(Path(sys.argv[1]), set())
    bib = "".join(Path(p).read_text(encoding="utf-8") for p in sys.argv[2:])
    labels = keys(r"\\label\{([^}]+)\}", tex)
    refs = keys(r"\\(?:eq|page|auto|name|[cC])?ref\{([^}]+)\}", tex)
    cites = keys(r"\\(?:no)?[a-zA-Z]*cite[a-zA-Z]*\*?(?:\[[^\]]*\])*\{([^}]+)\}", tex) - {"*"}
    entries = set(re.findall(r"@\w+\s*\{\s*([^,\s]+)\s*,", bib))
    problems = [("reference without label", refs - labels), ("label never used", labels - refs)]
    if bib:
        problems += [("citation not in .bib", cites - entries), (".bib entry never cited", entries - cites)]
    for title, names in problems:
        for name in sorted(names):
            print(f"{title}: {name}")
    sys.exit(1 if refs - labels or (bib and cites - entries) else 0)


if __name__ == "__main__":
    main()
