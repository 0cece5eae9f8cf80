#!/usr/bin/env bash
# Runs the demo job and asks its SQLite result a question. Usage: scripts/demo.sh PATH/TO/wasmill
set -euo pipefail
wasmill=$1
root=$(cd "$(dirname "$0")/.." && pwd)
rm -f "$root"/jobs/demo/flights.db*
echo "== wasmill run jobs/demo/flights.sql   (departures that were ten hours late or more, laid out by a plugin)"
(cd "$root" && "$wasmill" run jobs/demo/flights.sql)
echo
echo "== jobs/demo/flights.db: which airlines kept you waiting in January 2013?"
python3 - "$root/jobs/demo/flights.db" <<'PY'
import sqlite3, sys

query = """select airline, count(*) flights, sum(delay = 'cancelled') cancelled,
       round(100.0 * sum(delay in ('delayed', 'badly delayed')) / count(*), 1) late_percent,
       round(avg(2013 - built), 1) plane_age
from departures group by airline order by late_percent desc"""
print(query + ";\n")
with sqlite3.connect(sys.argv[1]) as db:
    cursor = db.execute(query)
    rows = [[c[0] for c in cursor.description]] + [["" if v is None else str(v) for v in r] for r in cursor]
widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
for r in rows:
    print("  ".join(v.ljust(w) if i == 0 else v.rjust(w) for i, (v, w) in enumerate(zip(r, widths))))
PY
