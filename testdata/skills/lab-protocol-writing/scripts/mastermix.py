#!/usr/bin/env python3
"""Print a master mix: per-reaction and total volumes in microlitres."""
import argparse


def component(text):
    name, _, volume = text.rpartition("=")
    if not name:
        raise argparse.ArgumentTypeError(f"want name=volume, got {text!r}")
    return name, float(volume)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reactions", type=int, required=True)
    parser.add_argument("--extra", type=float, default=0.10, help="share added for pipetting loss")
    parser.add_argument("components", nargs="+", type=component, metavar="name=volume")
    args = parser.parse_args()

    factor = args.reactions * (1 + args.extra)
    print(f"{'component':20} {'1x':>8} {'total':>9}")
    for name, volume in args.components:
        note = "  < 0.5 per reaction: fine only in a mix" if volume < 0.5 else ""
        print(f"{name:20} {volume:8.2f} {volume * factor:9.1f}{note}")
    each = sum(volume for _, volume in args.components)
    print(f"{'sum':20} {each:8.2f} {each * factor:9.1f}")
    print(f"dispense {each:.2f} per tube")


if __name__ == "__main__":
    main()
