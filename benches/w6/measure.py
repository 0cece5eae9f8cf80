"""Interleaved runs of the W6 engines; wall and CPU seconds of each whole process, medians, ratios to DataFusion."""

import os
import resource
import shutil
import statistics
import subprocess
import sys
import time

work, repetitions, wasmill, python, datafusion, records = sys.argv[1:]
records = int(records)
engines = {
    "datafusion p=1": [python, datafusion, "plain.jsonl", "df-out", "1"],
    "datafusion p=2": [python, datafusion, "plain.jsonl", "df-out", "2"],
    "wasmill p=1": [wasmill, "run", "w6.sql", "--quiet"],
    "wasmill p=2": [wasmill, "run", "w6.sql", "--quiet", "--set", "parallelism.default=2"],
}
seconds = {name: [] for name in engines}
cpu = {name: [] for name in engines}
for _ in range(int(repetitions)):
    for name, command in engines.items():
        for out in ("out", "df-out"):
            shutil.rmtree(os.path.join(work, out), ignore_errors=True)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.monotonic()
        result = subprocess.run(command, cwd=work, capture_output=True, text=True)
        took = time.monotonic() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if result.returncode != 0:
            sys.exit(f"{name}: exit {result.returncode}\n{result.stderr}")
        seconds[name].append(took)
        cpu[name].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)

lines = sum(
    sum(1 for _ in open(os.path.join(work, "out", part), "rb")) for part in os.listdir(os.path.join(work, "out"))
)
print(f"{records} records in, {lines} out")
base = {p: statistics.median(seconds[f"datafusion p={p}"]) for p in "12"}
print(f"{'engine':16} {'wall s':>8} {'k rec/s':>8} {'CPU s':>7} {'wall / DataFusion of the same p':>32}")
for name in engines:
    wall = statistics.median(seconds[name])
    print(
        f"{name:16} {wall:8.2f} {records / wall / 1000:8.0f} {statistics.median(cpu[name]):7.2f} {wall / base[name[-1]]:32.2f}"
    )
