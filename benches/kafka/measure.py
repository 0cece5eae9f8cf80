"""Interleaved runs of the Kafka workloads. Medians of wall and CPU seconds and of the peak memory of whole processes;
every engine reads the same topic from its start and ends where the topic ended. The broker's CPU is in no figure."""

import json
import os
import shutil
import statistics
import subprocess
import sys
import time

root, work, *rest = sys.argv[1:]
repetitions = int(rest.pop(0)) if rest and rest[0].isdigit() else 3
wanted = rest or ["w1", "w1-checkpoints", "w4", "w4-large", "w5", "latency"]
here = os.path.join(root, "benches/kafka")
wasmill = os.path.join(root, "target/release/wasmill")
bare = os.path.join(root, "target/release/bench-kafka")
broker = os.environ["WASMILL_KAFKA"]
mysql = os.environ["WASMILL_MYSQL"]
flink = os.environ.get("FLINK") == "1"
records = int(os.environ.get("RECORDS", "2000000"))
jars = os.path.expanduser(os.environ.get("WASMILL_DEV_CACHE", "~/.cache/wasmill-dev")) + "/kafka-4.4.0/*"


def topic(name):
    command = ["java", "-Xmx96m", "-cp", jars, "org.apache.kafka.tools.TopicCommand", "--bootstrap-server", broker]
    subprocess.run(command + ["--create", "--if-not-exists", "--topic", name, "--partitions", "2"], check=True, stdout=subprocess.DEVNULL)
    return name


def sql(statement):
    host, port = mysql.split(":")
    command = ["mariadb", "--no-defaults", "-uwasmill", "-pwasmill-secret", "-h", host, "-P", port, "-N", "-B", "test"]
    return subprocess.run(command, input=statement, text=True, check=True, capture_output=True).stdout.strip()


def fill(name, count, kind="plain"):
    """The input topic of `count` records."""
    path = f"{work}/{kind.replace(':', '-')}-{count}.jsonl"
    if not os.path.exists(path):
        subprocess.run([sys.executable, f"{root}/benches/w6/gen.py", kind, str(count), path], check=True)
    topic(name)
    subprocess.run([bare, "produce", broker, name, path], check=True)


def job(file, **values):
    text = open(f"{here}/{file}").read()
    for key, value in values.items():
        text = text.replace("${" + key + "}", value)
    path = f"{work}/{file}"
    open(path, "w").write(text)
    return path


def measure(command, env=None):
    """(wall seconds, CPU seconds, peak MB, output) of a process."""
    start = time.monotonic()
    process = subprocess.Popen(command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - start
    if status != 0:
        sys.exit(f"{command}: status {status}\n{output}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, output


def flink_run(label, libs, count, **values):
    """Wall and CPU seconds of the third (warm) run in one JVM, after submission; its start-up is not counted."""
    opens = []
    for p in ["lang", "lang.invoke", "lang.reflect", "net", "io", "nio", "text", "time", "util", "util.concurrent", "util.concurrent.atomic", "util.concurrent.locks"]:
        opens += ["--add-opens", f"java.base/java.{p}=ALL-UNNAMED"]
    cp = f"{root}/benches/peers/flink/target/flink-peer-1.jar:{os.environ['FLINK_CACHE']}/{libs}/*"
    command = ["java", "-Xms256m", "-Xmx1500m", "-XX:+UseG1GC", *opens, "-cp", cp, "bench.Job", label, f"{root}/benches/peers/flink/sql/{label}.sql", "1,1,1", "streaming", str(count)]
    command += [f"{k}={v}" for k, v in values.items()]
    _, _, peak, output = measure(command)
    warm = json.loads([line for line in output.splitlines() if line.startswith("{")][-1])
    return warm["secs"], warm["cpu_s"], peak, output


def compare(title, count, engines, prepare=lambda: None):
    figures = {name: [] for name in engines}
    for _ in range(repetitions):
        for name, run in engines.items():
            prepare()
            figures[name].append(run()[:3])
    print(f"\n{title}: {count} records, medians of {repetitions} interleaved runs")
    first = None
    for name, runs in figures.items():
        wall, cpu, peak = (statistics.median(r[i] for r in runs) for i in range(3))
        first = first or (wall, cpu)
        print(f"  {name:28} {wall:7.2f} s {count / wall / 1000:7.0f} k/s {cpu:7.2f} CPU s {peak:6.0f} MB   wall {wall / first[0]:5.2f} x, CPU {cpu / first[1]:5.2f} x")


def w1():
    fill("w1in", records)
    engines = {"bare rdkafka + simd-json": lambda: measure([bare, "w1", broker, "w1in", topic("w1raw"), str(records)])}
    path = job("w1.sql", IN="w1in", OUT=topic("w1out"), BROKER=broker, BOUNDED="latest-offset", LINGER="20")
    engines["wasmill"] = lambda: measure([wasmill, "run", path, "--quiet"])
    if flink:
        engines["flink 2.2 (warm)"] = lambda: flink_run("w1", "flink-libs", records, BROKER=broker, IN="w1in", OUT=topic("w1flink"))
    compare("W1, Kafka to Kafka", records, engines)


def w1_checkpoints():
    fill("w1c", records)
    path = job("w1.sql", IN="w1c", OUT=topic("w1cout"), BROKER=broker, BOUNDED="latest-offset", LINGER="20")
    folder = f"{work}/checkpoints"
    with_checkpoints = [wasmill, "run", path, "--quiet", "--checkpoint-dir", folder, "--checkpoint-interval", "1s"]
    engines = {
        "no checkpoint folder": lambda: measure([wasmill, "run", path, "--quiet"]),
        "a checkpoint every second": lambda: measure(with_checkpoints),
    }
    compare("W1 with checkpoints", records, engines, lambda: shutil.rmtree(folder, ignore_errors=True))


def dimension(name, count):
    sql(f"""DROP TABLE IF EXISTS {name}; CREATE TABLE {name} (name VARCHAR(32) PRIMARY KEY, city VARCHAR(32), lvl INT);
            INSERT INTO {name} SELECT CONCAT('roc',seq), CONCAT('city',seq%300), seq%7 FROM seq_0_to_{count - 1};""")


def w4(rows=10000, cache="10000", title="W4, lookup join", kind="plain", source="w4in"):
    fill(source, records, kind)
    dimension("dim", rows)
    jdbc = f"jdbc:mysql://{mysql}/test"
    path = job("w4.sql", IN=source, OUT=topic("w4out"), BROKER=broker, JDBC=jdbc, DIM="dim", CACHE=cache)
    engines = {}
    if flink:
        engines["flink 1.20 (warm)"] = lambda: flink_run("w4", "flink120-libs", records, BROKER=broker, IN=source, OUT=topic("w4flink"), JDBC=jdbc)
    engines["wasmill"] = lambda: measure([wasmill, "run", path, "--quiet"])
    compare(title, records, engines)


def w5():
    count = records // 10
    fill("w5in", count)
    sql("DROP TABLE IF EXISTS w5out; CREATE TABLE w5out (channel VARCHAR(32), name VARCHAR(48), pv INT, ab INT)")
    jdbc = f"jdbc:mysql://{mysql}/test"
    path = job("w5.sql", IN="w5in", BROKER=broker, JDBC=jdbc)
    engines = {}
    if flink:
        url = jdbc + "?rewriteBatchedStatements=true"
        engines["flink 1.20 (warm)"] = lambda: flink_run("w5", "flink120-libs", count, BROKER=broker, IN="w5in", JDBC=url)
    engines["wasmill"] = lambda: measure([wasmill, "run", path, "--quiet"])
    compare("W5, Kafka to MySQL", count, engines, lambda: sql("TRUNCATE TABLE w5out"))
    print(f"  rows after the last run: {sql('SELECT COUNT(*) FROM w5out')}")


def latency():
    out = topic("latout")
    path = job("w1.sql", IN=topic("latin"), OUT=out, BROKER=broker, BOUNDED="unbounded", LINGER="5")
    running = subprocess.Popen([wasmill, "run", path, "--quiet"], cwd=work)
    time.sleep(3)
    try:
        result = subprocess.run([bare, "latency", broker, "latin", out, "20000", "20"], check=True, text=True, capture_output=True)
    finally:
        running.terminate()
        running.wait()
    print(f"\nEnd to end: {result.stdout.strip()}")


workloads = {
    "w1": w1,
    "w1-checkpoints": w1_checkpoints,
    "w4": w4,
    "w4-large": lambda: w4(100000, "95000", "W4, 100,000 rows, a cache of 95,000", "keyed:100000", "w4large"),
    "w5": w5,
    "latency": latency,
}
for name in wanted:
    workloads[name]()
    sys.stdout.flush()
