#!/usr/bin/env python3
"""Print what a search engine reads first in an HTML file, with warnings."""
import sys
from html.parser import HTMLParser


class Head(HTMLParser):
    def __init__(self):
        super().__init__()
        self.facts, self.open, self.text = [], None, ""

    def handle_starttag(self, tag, attrs):
        a = {k: v or "" for k, v in attrs}
        if tag in ("title", "h1"):
            self.open, self.text = tag, ""
        elif tag == "meta" and a.get("name", "").lower() in ("description", "robots"):
            self.facts.append((a["name"].lower(), a.get("content", "")))
        elif tag == "link" and a.get("rel") == "canonical":
            self.facts.append(("canonical", a.get("href", "")))
        elif tag == "link" and "hreflang" in a:
            self.facts.append(("hreflang " + a["hreflang"], a.get("href", "")))

    def handle_data(self, data):
        if self.open:
            self.text += data

    def handle_endtag(self, tag):
        if tag == self.open:
            self.facts.append((tag, " ".join(self.text.split())))
            self.open = None


def warnings(facts):
    def values(name):
        return [v for n, v in facts if n == name]
    for name in ("title", "description", "canonical", "h1"):
        if len(values(name)) != 1:
            yield f"{name}: found {len(values(name))}, want 1"
    for title in values("title"):
        if len(title) > 60:
            yield f"title has {len(title)} characters"
    if any("noindex" in v for v in values("robots")):
        yield "page asks not to be indexed"


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: page_head.py file.html")
    parser = Head()
    with open(sys.argv[1], encoding="utf-8") as f:
        parser.feed(f.read())
    for name, value in parser.facts:
        print(f"{name:12} ({len(value):3}) {value}")
    for text in warnings(parser.facts):
        print("warning:", text)


if __name__ == "__main__":
    main()
