# Reads "name count" lines, and prints the nanoseconds of the processor that so many runs took.
import sys
import time
from functools import reduce
from operator import add

ROWS = [{"id": i, "n": i * 7919 % 1000, "price": i % 97, "name": f"row {i}"} for i in range(1000)]


def tiny():
    exec(compile("x = 3\ny = x * (x + 1)", "tiny", "exec"), {})


def rows():
    return sum([row["price"] for row in ROWS if row["n"] > 500])


def total():
    return reduce(add, range(1000000))


for line in sys.stdin:
    name, count = line.split()
    work = {"tiny": tiny, "rows": rows, "sum": total}[name]
    start = time.process_time_ns()
    for _ in range(int(count)):
        work()
    print(time.process_time_ns() - start, flush=True)
