#!/usr/bin/env python3
"""Sample size per arm for a difference of two proportions (normal approximation)."""
import argparse
import math
from statistics import NormalDist


def per_arm(p1, p2, alpha, power):
    z = NormalDist().inv_cdf
    mean = (p1 + p2) / 2
    a = z(1 - alpha / 2) * math.sqrt(2 * mean * (1 - mean))
    b = z(power) * math.sqrt(p1 * (1 - p1) + p2 * (1 - p2))
    return math.ceil(((a + b) / (p1 - p2)) ** 2)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--baseline", type=float, required=True, help="conversion rate today, such as 0.04")
    parser.add_argument("--mde", type=float, required=True, help="relative change to detect, such as 0.10")
    parser.add_argument("--alpha", type=float, default=0.05)
    parser.add_argument("--power", type=float, default=0.80)
    parser.add_argument("--arms", type=int, default=2)
    parser.add_argument("--daily", type=int, help="eligible users per day, all arms together")
    args = parser.parse_args()

    n = per_arm(args.baseline, args.baseline * (1 + args.mde), args.alpha, args.power)
    print(f"{n} users per arm, {n * args.arms} in all")
    if args.daily:
        days = math.ceil(n * args.arms / args.daily)
        print(f"{days} days; run {max(2, math.ceil(days / 7))} whole weeks")


if __name__ == "__main__":
    main()
