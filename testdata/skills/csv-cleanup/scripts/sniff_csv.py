"""Describe a delimited file: encoding, separator, ragged lines, duplicate headers."""
import collections
import csv
import sys

SAMPLE = 1 << 20


def encoding_of(head):
    if head.startswith(b"\xef\xbb\xbf"):
        return "utf-8-sig"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    try:
        # The sample may end inside a character, so cut at the last line end.
        head[: head.rfind(b"\n") + 1 or len(head)].decode("utf-8")
        return "utf-8"
    except UnicodeDecodeError:
        return "cp1252"


def delimiter_of(text):
    lines = text.splitlines()[:50]
    counts = {d: [line.count(d) for line in lines] for d in ",;\t|"}
    return max(counts, key=lambda d: (min(counts[d]), sum(counts[d])))


def main(path):
    with open(path, "rb") as f:
        head = f.read(SAMPLE)
    encoding = encoding_of(head)
    delimiter = delimiter_of(head.decode(encoding, "replace"))
    with open(path, newline="", encoding=encoding, errors="replace") as f:
        reader = csv.reader(f, delimiter=delimiter)
        header = next(reader, [])
        ragged = [(reader.line_num, len(row)) for row in reader if row and len(row) != len(header)]
    print(f"encoding: {encoding}\nseparator: {delimiter!r}\ncolumns: {len(header)}")
    for name, n in collections.Counter(h.strip() for h in header).items():
        if n > 1:
            print(f"duplicate header: {name!r} x{n}")
    print(f"ragged rows: {len(ragged)}")
    for line, n in ragged[:20]:
        print(f"  ends on line {line}: {n} columns")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: sniff_csv.py file.csv")
    main(sys.argv[1])
