"""Whole-process times of short commands: check of a seed's job, a one-row job, the same with a cached plugin.
The baseline of each ratio is `wasmill --version` of the same run. Usage: run.py WASMILL ROOT [RUNS]"""

import os
import statistics
import subprocess
import sys
import tempfile
import time

wasmill, root = (os.path.abspath(p) for p in sys.argv[1:3])
runs = int(sys.argv[3]) if len(sys.argv) > 3 else 21
work = tempfile.mkdtemp(prefix="wasmill-startup-")
env = dict(os.environ, WASMILL_CACHE=os.path.join(work, "cache"))


def write(name, text):
    with open(os.path.join(work, name), "w") as f:
        f.write(text)


write("one.jsonl", '{"a":"x"}\n')
tables = """CREATE TABLE src (a STRING) WITH ('connector'='filesystem','path'='one.jsonl','format'='json');
CREATE TABLE dst (a STRING) WITH ('connector'='print');
"""
write("plain.sql", tables + "INSERT INTO dst SELECT UPPER(a) FROM src;\n")
plugin = os.path.join(root, "plugins/built/flight_status.wasm")
write(
    "plugin.sql",
    f"CREATE FUNCTION f AS 'clock_time' LANGUAGE WASM USING '{plugin}';\n"
    + tables
    + "INSERT INTO dst SELECT f(CAST(CHAR_LENGTH(a) AS INT)) FROM src;\n",
)
cases = {
    "--version": (["--version"], None),
    "check of a seed's job": (["check", os.path.join(root, "jobs/dtstack/kudu_sink.sql")], 50),
    "run of a one-row file job": (["run", "plain.sql", "--quiet"], 150),
    "the same with a cached plugin": (["run", "plugin.sql", "--quiet"], 200),
}
times = {name: [] for name in cases}
for i in range(runs + 1):
    for name, (args, _) in cases.items():
        start = time.monotonic()
        result = subprocess.run([wasmill, *args], cwd=work, env=env, capture_output=True, text=True)
        took = (time.monotonic() - start) * 1000
        if result.returncode != 0:
            sys.exit(f"{name}: exit {result.returncode}\n{result.stderr}")
        if i > 0:  # the first round warms the file cache and the plugin cache
            times[name].append(took)

base = statistics.median(times["--version"])
print(f"{'command':32} {'median ms':>9} {'min':>7} {'max':>7} {'/ --version':>12} {'goal ms':>8}")
for name, (_, goal) in cases.items():
    t = times[name]
    print(
        f"{name:32} {statistics.median(t):9.1f} {min(t):7.1f} {max(t):7.1f} {statistics.median(t) / base:12.1f} {goal or '':>8}"
    )
