//! Tests of [`super`]: what is supported passes, everything else is refused by name.

use super::*;
use crate::diagnostic::SourceFile;
use crate::sql::ast::Statement;

/// The messages about one query, as `code line:column text`.
fn refusals(sql: &str) -> Vec<String> {
    let file = SourceFile::new("job.sql", format!("INSERT INTO o {sql}"));
    let (script, mut out) = crate::sql::parse_script(&file);
    let known = ["UPPER", "COALESCE", "CHAR_LENGTH", "TIMESTAMPADD", "TO_TIMESTAMP", "PROCTIME", "IF"];
    for s in &script.statements {
        if let Statement::Insert(i) = s {
            check_query(&i.query, &|n| known.iter().any(|k| k.eq_ignore_ascii_case(n)), &known, &mut out);
        }
    }
    let place = |d: &Diagnostic| d.span.map_or((0, 0), |s| (s.start.line, s.start.column));
    out.iter().map(|d| format!("{} {}:{} {}", d.code, place(d).0, place(d).1, d.message)).collect()
}

#[test]
fn what_is_supported_passes() {
    for sql in [
        "SELECT a, t.b AS c, * FROM t",
        "SELECT t.* FROM t AS t WHERE NOT (a = 1 AND b <> 'x' OR c IS NOT NULL) AND d BETWEEN 1 AND 2",
        "SELECT CASE WHEN a > 1 THEN 'x' ELSE 'y' END, CASE a WHEN 1 THEN 2 END FROM t",
        "SELECT CAST(a AS VARCHAR(3)), TRY_CAST(b AS TIMESTAMP_LTZ(3)), CAST(c AS DECIMAL(10, 2)), CAST(d AS BYTES) FROM t",
        "SELECT UPPER(a) || 'x', SUBSTRING(a FROM 2 FOR 3), SUBSTR(a, 1), TRIM(BOTH 'x' FROM a), TRIM(a) FROM t",
        "SELECT -a + 2 * 3 / 4 % 5, a LIKE 'x!%' ESCAPE '!', a NOT IN (1, 2), a IS NOT DISTINCT FROM b FROM t",
        "SELECT TIMESTAMPADD(DAY, 1, ts), IF(a IS TRUE, 1, 2), TIMESTAMP '2020-01-01 00:00:00', DATE '2020-01-01' FROM t",
        "SELECT a FROM (SELECT a FROM t WHERE b = U&'\\4e2d') x",
        "SELECT a.x FROM a JOIN s ON a.k = s.k LEFT JOIN u ON a.k = u.k",
        "SELECT a.x FROM a LEFT JOIN s FOR SYSTEM_TIME AS OF a.pt AS s USING (k)",
        "WITH x AS (SELECT a FROM t), y (b) AS (SELECT a FROM x) SELECT b FROM y",
        "(SELECT a FROM t)",
        "SELECT `order`, 名前 FROM `t t`",
        "SELECT EXTRACT(YEAR FROM a), FLOOR(a TO DAY), CEIL(b), POSITION('a' IN b), a + INTERVAL '1' DAY FROM t",
        "SELECT ARRAY[a, b], MAP['a', b], a[1], a['k'].x FROM t",
        "SELECT OVERLAY(a PLACING 'x' FROM 2 FOR 1), a SIMILAR TO 'x', a IS NOT JSON, a BETWEEN SYMMETRIC 2 AND 1 FROM t",
    ] {
        assert_eq!(refusals(sql), Vec::<String>::new(), "{sql}");
    }
}

#[test]
fn everything_else_is_refused_by_name() {
    for (sql, expected) in [
        ("SELECT DISTINCT a FROM t", "SELECT DISTINCT"),
        ("SELECT a FROM t GROUP BY a", "GROUP BY"),
        ("SELECT a FROM t HAVING a > 1", "HAVING"),
        ("SELECT a FROM t ORDER BY a", "ORDER BY"),
        ("SELECT a FROM t LIMIT 5", "LIMIT"),
        ("SELECT a FROM t OFFSET 5 ROWS", "LIMIT and OFFSET"),
        ("SELECT a FROM t FETCH FIRST 5 ROWS ONLY", "FETCH FIRST"),
        ("SELECT a FROM t UNION SELECT a FROM u", "UNION"),
        ("SELECT a FROM t EXCEPT SELECT a FROM u", "EXCEPT"),
        ("SELECT a FROM t INTERSECT SELECT a FROM u", "INTERSECT"),
        ("WITH RECURSIVE x AS (SELECT a FROM t) SELECT a FROM x", "WITH RECURSIVE"),
        ("SELECT a FROM t, u", "several tables in FROM"),
        ("SELECT a FROM t RIGHT JOIN u ON t.a = u.a", "RIGHT JOIN is not supported: use JOIN or LEFT JOIN"),
        ("SELECT a FROM t FULL OUTER JOIN u ON t.a = u.a", "FULL JOIN"),
        ("SELECT a FROM t CROSS JOIN u", "CROSS JOIN"),
        ("SELECT a FROM t NATURAL JOIN u", "NATURAL JOIN"),
        ("SELECT a FROM t JOIN u", "ON or USING"),
        ("SELECT a FROM t, LATERAL TABLE(f(a)) AS x(y)", "LATERAL TABLE"),
        ("SELECT a FROM LATERAL TABLE(f(a)) AS x(y)", "LATERAL TABLE"),
        ("SELECT a FROM TABLE(f(1)) AS x", "TABLE(f(..))"),
        ("SELECT a FROM t TABLESAMPLE BERNOULLI (5)", "TABLESAMPLE"),
        ("SELECT COUNT(*) FROM t", "aggregate function COUNT"),
        ("SELECT sum(a) FROM t", "aggregate function SUM"),
        ("SELECT ROW_NUMBER() OVER (PARTITION BY a ORDER BY b) FROM t", "OVER windows"),
        ("SELECT a FROM t WHERE a IN (SELECT b FROM u)", "IN (SELECT ..)"),
        ("SELECT a FROM t WHERE EXISTS (SELECT b FROM u)", "EXISTS"),
        ("SELECT (SELECT b FROM u) FROM t", "a query as a value"),
        ("SELECT a ^ b FROM t", "the operator ^"),
        ("SELECT a FROM t WHERE a ILIKE 'x'", "ILIKE"),
        ("SELECT a::INT FROM t", "::"),
        ("SELECT EXTRACT(YEAR, a) FROM t", "write EXTRACT(unit FROM value)"),
        ("SELECT IF(a, b) FROM t", "IF(condition, value, otherwise) does not take 2 arguments"),
        ("SELECT a + INTERVAL 1 DAY FROM t", "stands in quotes"),
        ("SELECT a + INTERVAL '1' DAY TO HOUR FROM t", "is no DAY TO HOUR"),
        ("SELECT CEIL(a, 2) FROM t", "write ROUND or TRUNCATE"),
        ("SELECT a RLIKE 'x' FROM t", "write REGEXP"),
        ("SELECT [1, 2] FROM t", "write ARRAY[..]"),
        ("SELECT a[1:2] FROM t", "ARRAY_SLICE"),
        ("SELECT a IS JSON AND UPER(b) = 'x' FROM t", "unknown function UPER"),
        ("SELECT `$cast`(a) FROM t", "unknown function $cast"),
        ("SELECT TIMESTAMP '2024-02-30 00:00:00' FROM t", "TIMESTAMP '2024-02-30 00:00:00' does not exist"),
        ("SELECT DATE '2023-02-29' FROM t", "DATE '2023-02-29' does not exist"),
        ("SELECT X'00' FROM t", "X'..' literals"),
        ("SELECT \"a\" FROM t", "double quotes"),
        ("SELECT a AS \"b\" FROM t", "quotes around a name"),
        ("SELECT UPER(a) FROM t", "unknown function UPER"),
        ("SELECT CAST(a AS STRNG) FROM t", "CAST: unknown type STRNG"),
        ("SELECT /*+ LOOKUP('x'='y') */ a FROM t", "query hints"),
        ("SELECT a FROM t /*+ OPTIONS('a'='b') */", "query hints"),
        ("SELECT a FROM t QUALIFY a > 1", "QUALIFY"),
        ("SELECT a FROM t WINDOW w AS (ORDER BY a)", "WINDOW"),
    ] {
        let found = refusals(sql);
        assert!(found.iter().any(|m| m.contains(expected)), "{sql}: {found:?}");
    }
}

#[test]
fn places_are_those_of_the_offender() {
    assert_eq!(refusals("SELECT a,\n  UPER(b) FROM t"), ["E0501 2:3 unknown function UPER"]);
    assert_eq!(refusals("SELECT a\nFROM t\nORDER BY b"), ["E0203 3:10 not supported yet: ORDER BY"]);
    assert_eq!(refusals("SELECT a,\n FROM WHERE x"), ["E0101 2:2 expected an expression, found FROM"]);
    assert_eq!(
        refusals("SELECT a FROM t WHERE"),
        ["E0101 1:36 expected an expression, found the end of the statement"]
    );
}

#[test]
fn a_long_chain_of_operators_is_walked_or_refused_without_overflow() {
    let chain = vec!["a"; 900].join(" + ");
    assert_eq!(refusals(&format!("SELECT {chain} FROM t")), Vec::<String>::new());
    let cases = (0..5_000).map(|i| format!("WHEN a = {i} AND b > {i} THEN {i} + 1")).collect::<Vec<_>>().join(" ");
    assert_eq!(refusals(&format!("SELECT CASE {cases} END FROM t")), Vec::<String>::new());
    let chain = vec!["a"; 30_000].join(" + ");
    assert!(refusals(&format!("SELECT {chain} FROM t"))[0].starts_with("E0103"));
    let brackets = format!("SELECT {}a{} FROM t", "(".repeat(10_000), ")".repeat(10_000));
    assert!(refusals(&brackets)[0].starts_with("E0103"), "{:?}", refusals(&brackets));
}
