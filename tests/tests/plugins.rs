//! Plugins through SQL: declared, found, refused, failing row by row; the demo job; a plugin project from the template.

use std::path::Path;
use wasmill_tests::{Run, Sandbox, plugin, root};

/// A sandbox with the example plugins, an input of numbers and a job that calls `f` on each.
fn job(declaration: &str, dialect_options: &str, call: &str, numbers: &[&str]) -> Sandbox {
    let s = Sandbox::new();
    for name in ["flight_status.wasm", "console_table.wasm"] {
        std::fs::copy(plugin(name), s.path(name)).expect("a built plugin");
    }
    let lines: String = numbers.iter().map(|n| format!("{{\"n\":{n}}}\n")).collect();
    s.write("in.jsonl", lines);
    s.write(
        "job.sql",
        format!(
            "{declaration}\n\
             CREATE TABLE src(n BIGINT) WITH ('connector'='filesystem','path'='in.jsonl','format'='json'{dialect_options});\n\
             CREATE TABLE sink(n BIGINT, v STRING) WITH ('connector'='print');\n\
             INSERT INTO sink SELECT n, {call} FROM src;\n"
        ),
    );
    s
}

const CLOCK: &str = "CREATE FUNCTION f AS 'clock_time' LANGUAGE WASM USING 'flight_status.wasm'";

fn run(s: &Sandbox, more: &[&str]) -> Run {
    s.wasmill(&[&["run", "job.sql", "--quiet"], more].concat())
}

#[test]
fn a_row_that_the_plugin_refuses_fails_the_job_in_flinks_dialect_and_names_the_record() {
    let s = job(&format!("{CLOCK};"), "", "f(CAST(n AS INT))", &["517", "2575", "2400"]);
    run(&s, &[])
        .expect_code(3)
        .expect_stderr("table src: in.jsonl line 2: function f: column v: 2575 is not a time of day");
}

#[test]
fn refused_rows_become_dead_letters_with_the_functions_name() {
    let s = job(&format!("{CLOCK};"), "", "f(CAST(n AS INT))", &["517", "2575", "2400"]);
    let done = run(&s, &["--dead-letters", "dead.jsonl"]).expect_code(0);
    assert_eq!(done.stdout, "{\"n\":517,\"v\":\"05:17\"}\n{\"n\":2400,\"v\":\"24:00\"}\n");
    let dead = s.json_lines("dead.jsonl");
    assert_eq!(dead.len(), 1);
    assert_eq!(dead[0]["reason"], "plugin");
    assert_eq!(dead[0]["function"], "f");
    assert_eq!(dead[0]["origin"]["line"], 2);
}

#[test]
fn on_error_of_the_function_goes_before_that_of_the_table() {
    for (policy, expected) in
        [("null", "{\"n\":2575,\"v\":null}\n{\"n\":1,\"v\":\"00:01\"}\n"), ("skip", "{\"n\":1,\"v\":\"00:01\"}\n")]
    {
        let declaration = format!("{CLOCK} WITH ('on-error'='{policy}');");
        let s = job(&declaration, ",'on-error'='fail'", "f(CAST(n AS INT))", &["2575", "1"]);
        assert_eq!(run(&s, &[]).expect_code(0).stdout, expected, "{policy}");
    }
}

#[test]
fn a_class_name_is_found_in_plugins_toml_beside_the_job_or_where_the_flag_says() {
    let toml =
        "[\"com.acme.Clock\"]\nmodule = \"flight_status.wasm\"\nfunction = \"clock_time\"\non-error = \"null\"\n";
    let s = job("CREATE SCALA FUNCTION f WITH com.acme.Clock;", "", "f(CAST(n AS INT))", &["2575", "1"]);
    s.write("plugins.toml", toml);
    let expected = "{\"n\":2575,\"v\":null}\n{\"n\":1,\"v\":\"00:01\"}\n";
    assert_eq!(run(&s, &[]).expect_code(0).stdout, expected);
    std::fs::rename(s.path("plugins.toml"), s.path("other.toml")).expect("renamed");
    assert_eq!(run(&s, &["--plugins", "other.toml"]).expect_code(0).stdout, expected);
    run(&s, &[])
        .expect_code(2)
        .expect_stderr("class 'com.acme.Clock' is not in plugins.toml")
        .expect_stderr("[\"com.acme.Clock\"]")
        .expect_stderr("wasmill plugin new");
}

#[test]
fn a_declaration_that_cannot_be_had_is_refused_at_its_place() {
    for (declaration, message) in [
        ("CREATE FUNCTION f AS 'nope' LANGUAGE WASM USING 'flight_status.wasm';", "has no function 'nope'"),
        ("CREATE FUNCTION f AS 'x' LANGUAGE WASM USING 'gone.wasm';", "gone.wasm"),
        ("CREATE FUNCTION f AS 'x' LANGUAGE WASM USING 'in.jsonl';", "in.jsonl"),
        ("CREATE FUNCTION f AS 'console_table' LANGUAGE WASM USING 'console_table.wasm';", "is a formatter function"),
        ("CREATE FUNCTION f AS 'a.b.C' USING JAR 'x.jar';", "plugins.toml"),
        (
            "CREATE FUNCTION f AS 'clock_time' LANGUAGE WASM USING 'flight_status.wasm' WITH ('memory-limit'='lots');",
            "memory-limit",
        ),
        (
            "CREATE FUNCTION f AS 'clock_time' LANGUAGE WASM USING 'flight_status.wasm' WITH ('on-error'='maybe');",
            "expected fail, dead-letter, null or skip",
        ),
    ] {
        let s = job(declaration, "", "f(CAST(n AS INT))", &["1"]);
        run(&s, &[]).expect_code(2).expect_stderr("job.sql:1:").expect_stderr(message);
    }
}

#[test]
fn arguments_that_the_function_does_not_take_are_refused_at_submit() {
    let s = job(&format!("{CLOCK};"), "", "f(n, n)", &["1"]);
    run(&s, &[]).expect_code(2).expect_stderr("job.sql:4:").expect_stderr("argument");
}

#[test]
fn a_guest_written_from_the_abis_page_alone_runs() {
    let s = Sandbox::new();
    let built = std::process::Command::new("clang-19")
        .args(["--target=wasm32-unknown-unknown", "-O2", "-nostdlib", "-ffreestanding", "-mbulk-memory"])
        .args(["-Wl,--no-entry", "-Wl,--strip-all", "-o"])
        .arg(s.path("initials.wasm"))
        .arg(root().join("plugins/c-from-abi/initials.c"))
        .output()
        .expect("clang-19 runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    s.write("in.jsonl", "{\"s\":\"new york\"}\n{\"s\":null}\n{\"s\":\"\"}\n{\"s\":\"a b c\"}\n");
    s.write(
        "job.sql",
        "CREATE FUNCTION initials AS 'initials' LANGUAGE WASM USING 'initials.wasm';
         CREATE TABLE src(s STRING) WITH ('connector'='filesystem','path'='in.jsonl','format'='json');
         CREATE TABLE sink(i STRING) WITH ('connector'='print');
         INSERT INTO sink SELECT initials(s) FROM src;",
    );
    let done = run(&s, &["--dead-letters", "dead.jsonl"]).expect_code(0);
    assert_eq!(done.stdout, "{\"i\":\"NY\"}\n{\"i\":null}\n{\"i\":\"ABC\"}\n");
    assert_eq!(s.json_lines("dead.jsonl")[0]["message"], "nothing to abbreviate");
}

/// A module of plugins/hostile, put together as its guest.wat says.
fn hostile(name: &str) -> Vec<u8> {
    let read = |file: &str| std::fs::read_to_string(root().join("plugins/hostile").join(file)).expect(file);
    let own = read(name);
    let defined = |line: &str| {
        let rest = line.strip_prefix("(func $").or_else(|| line.strip_prefix("(memory $"))?;
        rest.split([' ', ')']).next().map(str::to_string)
    };
    let own_names: Vec<String> = own.lines().filter_map(defined).collect();
    let defaults: String = read("defaults.wat")
        .split("\n\n")
        .filter(|p| !p.lines().filter_map(defined).any(|n| own_names.contains(&n)))
        .map(|p| format!("{p}\n\n"))
        .collect();
    wat::parse_str(format!("(module\n{own}\n{}\n{defaults})", read("guest.wat"))).expect(name)
}

fn hostile_job(name: &str, function: &str) -> Sandbox {
    let declaration =
        format!("CREATE FUNCTION f AS '{function}' LANGUAGE WASM USING 'hostile.wasm' WITH ('cpu-limit'='50ms');");
    let s = job(&declaration, "", "CAST(f(n) AS STRING)", &["1", "13", "2"]);
    s.write("hostile.wasm", hostile(name));
    s
}

fn exported(name: &str) -> String {
    let s = Sandbox::new();
    s.write("hostile.wasm", hostile(name));
    let text = s.wasmill(&["plugin", "inspect", "hostile.wasm"]).expect_code(0).stdout;
    let (_, rest) = text.split_once("scalar").expect("a scalar function");
    rest.trim().split('(').next().expect("its name").to_string()
}

#[test]
fn an_endless_loop_a_trap_and_a_deep_recursion_cost_their_row_and_no_other() {
    for name in ["spin.wat", "unreachable.wat", "recursion.wat", "divide-by-zero.wat"] {
        let s = hostile_job(name, &exported(name));
        let done = run(&s, &["--dead-letters", "dead.jsonl"]).expect_code(0);
        assert_eq!(done.stdout.lines().count(), 2, "{name}: {}", done.stdout);
        let dead = s.json_lines("dead.jsonl");
        assert_eq!(dead.len(), 1, "{name}");
        assert_eq!(dead[0]["reason"], "plugin-trap", "{name}");
        assert_eq!(dead[0]["origin"]["line"], 2, "{name}");
    }
}

#[test]
fn a_module_that_asks_for_more_than_it_may_have_is_refused_at_submit_by_name() {
    for (name, message) in [("unknown-import.wat", "import"), ("wrong-version.wat", "version"), ("simd.wat", "simd")] {
        let s = hostile_job(name, "f");
        let refused = run(&s, &[]).expect_code(2).expect_stderr("job.sql:1:");
        assert!(refused.stderr.to_lowercase().contains(message), "{name}: {}", refused.stderr);
    }
}

#[test]
fn the_demo_job_joins_a_month_of_flights_through_two_plugins() {
    let s = Sandbox::new();
    let job = root().join("jobs/demo/flights.sql");
    let job = job.to_str().expect("a path that is text");
    let done = s.wasmill(&["run", job, "--stand-in", "departures=out.jsonl"]).expect_code(0);
    let rows = s.json_lines("out.jsonl");
    assert_eq!(rows.len(), 27_004);
    // What the formatter plugin laid out.
    assert_eq!(done.stdout.lines().count(), 3, "{}", done.stdout);
    assert!(done.stdout.contains("Hawaiian Airlines Inc. 51"), "{}", done.stdout);
    // Cancelled flights, tail numbers without a plane, landings at midnight.
    assert_eq!(rows.iter().filter(|r| r["delay"] == "cancelled").count(), 521);
    assert!(rows.iter().any(|r| r["arrived"] == "24:00"));
    assert!(rows.iter().any(|r| r["manufacturer"].is_null() && !r["tailnum"].is_null()));
    // A flight that left after midnight has the next day.
    let late = rows.iter().find(|r| r["airline"] == "Hawaiian Airlines Inc." && r["dep_delay"] == 1301).expect("it");
    assert_eq!(
        (late["scheduled"].as_str(), late["departed"].as_str()),
        (Some("2013-01-09 09:00:00"), Some("2013-01-10 06:41:00"))
    );
}

#[test]
fn a_project_from_the_template_builds_without_a_network_and_runs() {
    let s = Sandbox::new();
    s.wasmill(&["plugin", "new", "shout"]).expect_code(0);
    let built = std::process::Command::new("cargo")
        .args(["build", "--release", "--offline", "--target", "wasm32-unknown-unknown"])
        .current_dir(s.path("shout"))
        .env("RUSTUP_TOOLCHAIN", toolchain(&root()))
        .env_remove("CARGO_TARGET_DIR")
        .output()
        .expect("cargo runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let done = s.wasmill(&["run", "shout/job.sql", "--quiet"]).expect_code(0);
    assert!(done.stdout.lines().count() > 1, "{}", done.stdout);
}

/// The project's own toolchain: it has the wasm target.
fn toolchain(root: &Path) -> String {
    let text = std::fs::read_to_string(root.join("rust-toolchain.toml")).expect("rust-toolchain.toml");
    let (_, rest) = text.split_once("channel = \"").expect("a channel");
    rest.split('"').next().expect("its name").to_string()
}
