"""How long `interlock --help` takes, as a ratio to `python -c pass` in the same run. Goal: at most 8.

Rounds are interleaved and the best of each is compared, so that a busy machine slows both alike.
"""

import subprocess
import sys
import time

ROUNDS = 15
GOAL = 8.0
COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "interlock --help": ["-m", "interlock", "--help"],
    "interlock tool --help": ["-m", "interlock", "tool", "--help"],
    "interlock rule test --help": ["-m", "interlock", "rule", "test", "--help"],
    "interlock tool classify delete_x": ["-m", "interlock", "tool", "classify", "delete_x"],
}


def seconds(arguments: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def main() -> None:
    best = dict.fromkeys(COMMANDS, float("inf"))
    for _ in range(ROUNDS):
        for name, arguments in COMMANDS.items():
            best[name] = min(best[name], seconds(arguments))
    floor = best["python -c pass"]
    print(f"start: best of {ROUNDS} interleaved rounds, ratio to `python -c pass` (goal for --help: {GOAL:g})")
    for name, taken in best.items():
        print(f"  {name:34} {taken * 1000:7.1f} ms   {taken / floor:5.1f}")
    reached = best["interlock --help"] / floor <= GOAL
    print(f"  goal {'reached' if reached else 'MISSED'}")


if __name__ == "__main__":
    main()
