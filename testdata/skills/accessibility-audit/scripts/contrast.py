"""Print the WCAG contrast ratio of two hex colours and what it suffices for."""
import sys


def channel(value):
    c = value / 255
    return c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4


def luminance(colour):
    digits = colour.lstrip("#")
    if len(digits) == 3:
        digits = "".join(d * 2 for d in digits)
    r, g, b = (channel(int(digits[i : i + 2], 16)) for i in (0, 2, 4))
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def ratio(a, b):
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: contrast.py '#767676' '#ffffff'")
    r = ratio(sys.argv[1], sys.argv[2])
    print(f"{r:.2f}:1  text {'pass' if r >= 4.5 else 'FAIL'}  large text and controls {'pass' if r >= 3 else 'FAIL'}")
