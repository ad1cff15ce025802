#!/usr/bin/env python3
"""List the gaps of an OpenAPI document in JSON form."""
import json
import sys

METHODS = {"get", "put", "post", "delete", "patch", "head", "options"}


def gaps(doc):
    for path, item in doc.get("paths", {}).items():
        for method, op in item.items():
            if method not in METHODS:
                continue
            where = f"{method.upper()} {path}"
            if not (op.get("summary") or op.get("description")):
                yield f"{where}: no summary"
            if not op.get("operationId"):
                yield f"{where}: no operationId"
            for param in item.get("parameters", []) + op.get("parameters", []):
                if "$ref" not in param and not param.get("description"):
                    yield f"{where}: parameter {param.get('name')} has no description"
            if not any(code.startswith("4") or code == "default" for code in op.get("responses", {})):
                yield f"{where}: no client error documented"


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: undocumented.py openapi.json")
    with open(sys.argv[1], encoding="utf-8") as f:
        found = list(gaps(json.load(f)))
    print("\n".join(found) or "no gaps")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
