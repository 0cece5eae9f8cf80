"""W6 with one thing changed at a time, interleaved with W6 itself: a plugin function for UPPER, a plugin formatter for
json, one record in ten broken, a side table of 1,000,000 rows. CPU seconds of whole processes, medians, ratios to W6."""

import os
import shutil
import statistics
import subprocess
import sys

work, repetitions, wasmill, plugins, records = sys.argv[1:]
records = int(records)
SIDE = 1_000_000
w6 = open(os.path.join(work, "w6.sql")).read()


def write(name, text):
    with open(os.path.join(work, name), "w") as f:
        f.write(text)
    return [wasmill, "run", name, "--quiet"]


def side_job(source, join):
    """Rows of `source`, joined or not, into nothing."""
    kept = "s.k, d.city" if join else "s.k, s.name"
    on = "LEFT JOIN dim FOR SYSTEM_TIME AS OF s.p AS d ON s.k = d.k" if join else ""
    return f"""
CREATE TABLE src (k INT, name STRING, p AS PROCTIME()) WITH ('connector' = 'filesystem', 'path' = '{source}', 'format' = 'json');
CREATE TABLE dim (k INT, city STRING) WITH ('connector' = 'filesystem', 'path' = 'side.csv', 'format' = 'csv');
CREATE TABLE dst (k INT, v STRING) WITH ('connector' = 'blackhole');
INSERT INTO dst SELECT {kept} FROM src s {on};
"""


def prepare():
    if not os.path.exists(os.path.join(work, "side.csv")):
        with open(os.path.join(work, "side.csv"), "w") as f:
            f.writelines(f"{i},city{i % 300}\n" for i in range(SIDE))
    if not os.path.exists(os.path.join(work, "probes.jsonl")):
        with open(os.path.join(work, "probes.jsonl"), "w") as f:
            f.writelines('{"k":%d,"name":"roc%d"}\n' % (i * 7919 % SIDE, i % 10000) for i in range(records))
        with open(os.path.join(work, "no-probes.jsonl"), "w") as f:
            f.write('{"k":1,"name":"roc1"}\n')
    if not os.path.exists(os.path.join(work, "broken.jsonl")):
        with open(os.path.join(work, "plain.jsonl")) as plain, open(os.path.join(work, "broken.jsonl"), "w") as broken:
            broken.writelines(line[:-3] + "\n" if i % 10 == 0 else line for i, line in enumerate(plain))


prepare()
function = f"CREATE FUNCTION up AS 'upper' LANGUAGE WASM USING '{plugins}/bench_guest.wasm';\n"
formatter = f"'path' = 'out', 'format' = 'wasm', 'wasm.module' = '{plugins}/bench_guest.wasm'"
skip = "'path' = 'broken.jsonl', 'on-error' = 'skip'"
jobs = {
    "W6": write("w6.sql", w6),
    "a plugin function": write("w6-function.sql", function + w6.replace("UPPER(", "up(")),
    "a plugin formatter": write("w6-formatter.sql", w6.replace("'path' = 'out', 'format' = 'json'", formatter)),
    "1 record in 10 broken": write("w6-broken.sql", w6.replace("'path' = 'plain.jsonl'", skip)),
    "probes read": write("side-none.sql", side_job("probes.jsonl", False)),
    "probes read and joined": write("side-join.sql", side_job("probes.jsonl", True)),
    "side table loaded": write("side-load.sql", side_job("no-probes.jsonl", True)),
}
cpu = {name: [] for name in jobs}
peak = {name: [] for name in jobs}
for _ in range(int(repetitions)):
    for name, command in jobs.items():
        shutil.rmtree(os.path.join(work, "out"), ignore_errors=True)
        process = subprocess.Popen(command, cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            sys.exit(f"{name}: status {status}\n{errors}")
        cpu[name].append(usage.ru_utime + usage.ru_stime)
        peak[name].append(usage.ru_maxrss / 1024)

base = statistics.median(cpu["W6"])
print(f"{'job':24} {'CPU s':>7} {'of W6':>6} {'peak MB':>8}")
for name in jobs:
    seconds = statistics.median(cpu[name])
    print(f"{name:24} {seconds:7.2f} {seconds / base:6.2f} {statistics.median(peak[name]):8.0f}")
median = {name: statistics.median(values) for name, values in cpu.items()}
probing = median["probes read and joined"] - median["probes read"] - median["side table loaded"]
print(f"the join itself: {records / max(probing, 0.01) / 1e6:.1f} million probes per CPU second")
