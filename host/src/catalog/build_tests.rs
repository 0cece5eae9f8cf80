//! Tests of the catalog, and the data-driven diagnostics of `tests/diagnostics` and `tests/sql`.

use super::*;
use crate::catalog::{TableColumnKind, describe};
use crate::diagnostic::SourceFile;
use crate::sql::parse_script;
use std::path::{Path, PathBuf};

fn check(file: &SourceFile) -> (Catalog, Vec<Diagnostic>) {
    let (script, mut out) = parse_script(file);
    let catalog = build(&script, &mut out);
    (catalog, out)
}

fn check_text(text: &str) -> (Catalog, Vec<Diagnostic>) {
    check(&SourceFile::new("job.sql", text))
}

fn errors(out: &[Diagnostic]) -> Vec<String> {
    out.iter().filter(|d| d.is_error()).map(|d| format!("{} {}", d.code, d.message)).collect()
}

fn test_files(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests").join(folder);
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(&root).expect("test folder").map(|e| e.expect("entry").path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "sql"));
    files.sort();
    files
}

/// Every message must be expected and every expectation met: `-- expect: error[E0101] 4:12 part of the text`.
#[test]
fn diagnostics_are_as_the_files_say() {
    let files = test_files("diagnostics");
    assert!(files.len() >= 40, "only {} cases", files.len());
    let mut failures = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).expect("readable case");
        let mut expected: Vec<String> =
            text.lines().filter_map(|l| l.strip_prefix("-- expect: ")).map(|l| l.trim().to_string()).collect();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (_, out) = check(&SourceFile::new(name.clone(), text));
        for d in &out {
            let span = d.span.unwrap_or_default();
            let kind = if d.is_error() { "error" } else { "warning" };
            let head = format!("{kind}[{}] {}:{} ", d.code, span.start.line, span.start.column);
            let all = format!("{} {}", d.message, d.hint.as_deref().unwrap_or_default());
            match expected.iter().position(|e| e.strip_prefix(&head).is_some_and(|part| all.contains(part))) {
                Some(i) => {
                    expected.remove(i);
                }
                None => failures.push(format!("{name}: unexpected: {head}{all}")),
            }
        }
        failures.extend(expected.into_iter().map(|e| format!("{name}: missing: {e}")));
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

#[test]
fn every_statement_of_the_seeds_is_read_without_error() {
    let files = test_files("sql/seeds");
    assert!(files.len() >= 8, "only {} seed files", files.len());
    for path in files {
        let text = std::fs::read_to_string(&path).expect("readable seed");
        let (catalog, out) = check(&SourceFile::new(path.to_string_lossy().into_owned(), text));
        assert_eq!(errors(&out), Vec::<String>::new(), "{}", path.display());
        assert!(!catalog.tables.is_empty(), "{}", path.display());
    }
}

#[test]
fn a_seed_that_breaks_off_anywhere_is_read_without_panic_and_with_places_in_the_text() {
    for path in test_files("sql/seeds") {
        let text = std::fs::read_to_string(&path).expect("readable seed");
        for (end, _) in text.char_indices().step_by(7) {
            let half = &text[..end];
            for d in check_text(half).1 {
                let span = d.span.expect("a place");
                assert!((1..=half.lines().count() as u32 + 1).contains(&span.start.line), "{d:?}\n{half}");
                assert!(span.start <= span.end, "{d:?}");
            }
        }
    }
}

const KAFKA: &str = "type='kafka', bootstrapServers='h:1', topic='t'";

fn column_types(catalog: &Catalog, table: &str) -> Vec<String> {
    let text = |c: &crate::catalog::TableColumn| match &c.kind {
        TableColumnKind::Physical { logical_type, nullable, path } => {
            format!("{} {logical_type}{} {path:?}", c.name, if *nullable { "" } else { " NOT NULL" })
        }
        TableColumnKind::Computed(e) => format!("{} AS {e}", c.name),
        TableColumnKind::Metadata { logical_type, key, is_virtual, .. } => {
            format!("{} {logical_type} META {key} {is_virtual}", c.name)
        }
    };
    catalog.tables[table].columns.iter().map(text).collect()
}

#[test]
fn b01_comments_and_commas_in_values_do_not_break_options() {
    let (catalog, out) = check_text(
        "/* a; b */ CREATE TABLE src(id int)WITH(type='kafka', bootstrapServers='h1:1,h2:2', /* x='y', */ topic='t');",
    );
    assert!(out.is_empty(), "{out:?}");
    let t = &catalog.tables["src"];
    assert_eq!(t.options.list("bootstrap.servers"), Some(&["h1:1".to_string(), "h2:2".to_string()][..]));
    assert_eq!(t.options.entries.values().filter(|e| e.span.is_some()).count(), 2);
}

#[test]
fn b04_a_hash_comment_is_no_part_of_a_value() {
    let (catalog, out) = check_text(
        "CREATE TABLE t(id int) WITH(type='kafka', bootstrapServers='h:1', sourcedatatype ='dt_nest' #may be omitted\n, topic='a#b')",
    );
    assert_eq!(errors(&out), Vec::<String>::new());
    let t = &catalog.tables["t"];
    assert_eq!(t.format.as_ref().map(|f| f.identifier.as_str()), Some("dt_nest"));
    assert_eq!(t.options.list("topic"), Some(&["a#b".to_string()][..]));
}

#[test]
fn b08_parameters_and_not_null_are_read_for_plain_columns() {
    let (catalog, out) = check_text(&format!(
        "CREATE TABLE src(amount decimal(10,2) NOT NULL, t timestamp(3), u.v[0].w varchar(3) AS x NOT NULL) WITH({KAFKA})"
    ));
    assert!(out.is_empty(), "{out:?}");
    assert_eq!(
        column_types(&catalog, "src"),
        [
            "amount DECIMAL(10, 2) NOT NULL [Member(\"amount\")]",
            "t TIMESTAMP(3) [Member(\"t\")]",
            "x VARCHAR(3) NOT NULL [Member(\"u\"), Member(\"v\"), Index(0), Member(\"w\")]"
        ]
    );
}

#[test]
fn b10_computed_columns_in_both_spellings() {
    let (catalog, out) = check_text(&format!(
        "CREATE TABLE src(a varchar, concat(a, 'b') AS c, PROCTIME() AS p, CAST(a AS INT) + 1 AS n) WITH({KAFKA});
         CREATE TABLE fl(a INT, b AS UPPER(CONCAT(a, 'x')), p AS PROCTIME(), ts TIMESTAMP(3) METADATA FROM 'timestamp' VIRTUAL,
           `offset` BIGINT METADATA)
         WITH('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json')"
    ));
    assert_eq!(errors(&out), Vec::<String>::new());
    assert_eq!(
        column_types(&catalog, "src")[1..],
        ["c AS concat(a, 'b')", "p AS PROCTIME()", "n AS CAST(a AS INT) + 1"]
    );
    assert_eq!(
        column_types(&catalog, "fl")[1..],
        [
            "b AS UPPER(CONCAT(a, 'x'))",
            "p AS PROCTIME()",
            "ts TIMESTAMP(3) META timestamp true",
            "offset BIGINT META offset false"
        ]
    );
}

#[test]
fn b16_and_b17_inserts_with_as_in_any_case_and_backticks() {
    let (script, out) = parse_script(&SourceFile::new(
        "job.sql",
        "INSERT INTO o SELECT a.id AS `order`, s.name as n FROM a LEFT JOIN s ON a.id = s.id;
         insert into o(channel, pv) select channel, pv from MyTable",
    ));
    assert!(out.is_empty(), "{out:?}");
    let inserts: Vec<&Insert> = script.inserts().collect();
    assert!(inserts[0].query.to_string().contains("a.id AS `order`"), "{}", inserts[0].query);
    assert_eq!(inserts[1].columns.iter().map(|c| c.value.as_str()).collect::<Vec<_>>(), ["channel", "pv"]);
}

#[test]
fn keys_follow_the_rules_of_the_dialect() {
    let (catalog, out) = check_text(
        "CREATE TABLE dim(Id int, v varchar, PRIMARY KEY( id , extra ), PERIOD FOR SYSTEM_TIME)
           WITH(type='kudu', kuduMasters='h', tableName='t', cache='LRU');
         CREATE TABLE fl(a INT PRIMARY KEY NOT ENFORCED, b INT) WITH('connector'='sqlite', 'path'='p', 'table'='t');",
    );
    assert_eq!(out.iter().map(|d| d.code).collect::<Vec<_>>(), [codes::W_KEY_COLUMN_ADDED]);
    assert_eq!(catalog.tables["dim"].primary_key, ["Id", "extra"]);
    assert!(catalog.tables["dim"].is_side);
    assert_eq!(column_types(&catalog, "dim")[2], "extra STRING [Member(\"extra\")]");
    assert_eq!(column_types(&catalog, "fl")[0], "a INT NOT NULL [Member(\"a\")]");
}

#[test]
fn formats_and_their_defaults_follow_dialect_and_role() {
    let (catalog, out) = check_text(
        "CREATE TABLE src(a varchar) WITH(type='kafka', bootstrapServers='h', topic='t', sourcedatatype='csv');
         CREATE TABLE o(a varchar) WITH(type='kafka', bootstrapServers='h', topic='t');
         CREATE TABLE p(a STRING) WITH('connector'='print', 'format'='wasm', 'wasm.module'='f.wasm', 'wasm.width'='20');
         CREATE TABLE f(a STRING) WITH('connector'='filesystem', 'path'='x.csv', 'format'='csv', 'csv.header'='true',
           'csv.field-delimiter'=U&'\\0001', 'csv.null-literal'='NA');
         INSERT INTO o SELECT a FROM src",
    );
    assert!(out.is_empty(), "{out:?}");
    let format = |t: &str| catalog.tables[t].format.as_ref().expect("a format");
    assert_eq!((format("src").identifier.as_str(), format("src").options.char("field-delimiter")), ("csv", Some('|')));
    assert_eq!((format("o").identifier.as_str(), format("o").span), ("json", None));
    let wasm = &format("p").options;
    assert_eq!((wasm.text("module"), wasm.prefixed["config"]["width"].as_str()), (Some("f.wasm"), "20"));
    let csv = &format("f").options;
    assert_eq!(
        (csv.bool("header"), csv.char("field-delimiter"), csv.text("null-literal")),
        (Some(true), Some('\u{1}'), Some("NA"))
    );
}

#[test]
fn functions_in_all_forms() {
    let (catalog, out) = check_text(
        "CREATE SCALA FUNCTION a WITH x.y.Z$In; create table function b with x.Y; CREATE AGGREGATE FUNCTION c WITH x.Y;
         CREATE FUNCTION d AS 'x.Y'; CREATE TEMPORARY SYSTEM FUNCTION IF NOT EXISTS e AS 'x.Y' LANGUAGE JAVA;
         CREATE FUNCTION f AS 'mask' LANGUAGE WASM USING 'p.wasm' WITH ('on-error' = 'null');",
    );
    assert!(out.is_empty(), "{out:?}");
    assert_eq!(catalog.functions.keys().collect::<Vec<_>>(), ["a", "b", "c", "d", "e", "f"]);
    use crate::sql::ast::{FunctionKind, FunctionSource};
    assert!(matches!(&catalog.functions["a"].source, FunctionSource::Class { class, .. } if class == "x.y.Z$In"));
    assert_eq!(catalog.functions["b"].kind, FunctionKind::Table);
    assert!(
        matches!(&catalog.functions["f"].source, FunctionSource::Wasm { exported, path, .. } if exported == "mask" && path == "p.wasm")
    );
    assert_eq!(catalog.functions["f"].options.entries[0].key, "on-error");
}

#[test]
fn a_description_shows_everything_but_secrets() {
    let (catalog, out) = check_text(
        "CREATE TABLE o(id int, info.v varchar AS v, PRIMARY KEY(id)) WITH(type='mysql', userName='u', password='hidden1',
           url='jdbc:mysql://h:3306/d?user=u&password=hidden2', tableName='t', parallelism='2')",
    );
    assert_eq!(errors(&out), Vec::<String>::new());
    let text = describe(&catalog.tables["o"], "sink");
    assert!(!text.contains("hidden"), "{text}");
    for part in [
        "table o\n",
        "role         sink\n",
        "dialect      flinkStreamSQL\n",
        "connector    jdbc\n",
        "primary key  id\n",
        "    v   STRING from info.v\n",
        "    password = ******\n",
        "    url = jdbc:mysql://h:3306/d?user=u&password=******\n",
        "    batchSize = 100 (default)\n",
    ] {
        assert!(text.contains(part), "{part:?} in\n{text}");
    }
}

#[test]
fn every_option_is_explained_and_every_default_can_be_read() {
    for connector in CONNECTORS {
        for o in connector.options().iter().chain(COMMON) {
            let name = format!("{}.{}", connector.identifier(), o.name);
            assert!(!o.doc.is_empty(), "{name}");
            for (dialect, d) in o.default {
                assert!(crate::sql::options::parse_value(o.kind, d).is_ok(), "{name}");
                assert!(o.spelled(*dialect).next().is_some(), "{name}: a default without a spelling");
            }
            for dialect in o.required {
                assert!(o.spelled(*dialect).next().is_some(), "{name}: required without a spelling");
            }
        }
    }
}
