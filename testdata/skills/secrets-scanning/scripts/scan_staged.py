"""Refuse staged lines that look like credentials; values are never printed."""
import collections
import math
import re
import subprocess
import sys

SHAPES = {
    "AWS access key": re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    "private key": re.compile(r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----"),
    "GitHub token": re.compile(r"\bgh[pousr]_[A-Za-z0-9]{36,}\b"),
    "password in URL": re.compile(r"\w://[^\s/:@]+:[^\s/@]{6,}@"),
}
ASSIGNED = re.compile(r"(?i)(?:secret|token|passw(?:or)?d|api_?key)\W{1,4}([A-Za-z0-9+/_\-]{20,})")


def entropy(text):
    counts = collections.Counter(text).values()
    return -sum(n / len(text) * math.log2(n / len(text)) for n in counts)


def verdict(line):
    for name, shape in SHAPES.items():
        if shape.search(line):
            return name
    found = ASSIGNED.search(line)
    if found and entropy(found[1]) > 3.5:
        return "random string assigned to a secret-like name"
    return None


def added_lines():
    diff = subprocess.run(["git", "diff", "--cached", "-U0", "--no-color"],
                          check=True, capture_output=True, text=True, errors="replace").stdout
    path = number = None
    for line in diff.splitlines():
        if line.startswith("+++ "):
            path = line[6:]
        elif line.startswith("@@"):
            number = int(re.search(r"\+(\d+)", line)[1])
        elif line.startswith("+"):
            yield path, number, line[1:]
            number += 1


def main():
    findings = [(p, n, v) for p, n, text in added_lines() if (v := verdict(text))]
    for path, number, what in findings:
        print(f"{path}:{number}: {what}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
