//! `wasmill plugin new`: a project that builds offline and runs in a job at once. The SDK's sources travel in this
//! binary and are written into the project.

use crate::error::{Error, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Files of the SDK: where they go in the project, and their text.
const SDK: [(&str, &str); 26] = [
    ("wasmill-abi/src/lib.rs", include_str!("../../../guest-sdk/abi/src/lib.rs")),
    ("wasmill-abi/src/bundle.rs", include_str!("../../../guest-sdk/abi/src/bundle.rs")),
    ("wasmill-abi/src/bytes.rs", include_str!("../../../guest-sdk/abi/src/bytes.rs")),
    ("wasmill-abi/src/error.rs", include_str!("../../../guest-sdk/abi/src/error.rs")),
    ("wasmill-abi/src/schema.rs", include_str!("../../../guest-sdk/abi/src/schema.rs")),
    ("wasmill-abi/src/types.rs", include_str!("../../../guest-sdk/abi/src/types.rs")),
    ("wasmill-abi/src/value.rs", include_str!("../../../guest-sdk/abi/src/value.rs")),
    ("wasmill-abi/src/frame/mod.rs", include_str!("../../../guest-sdk/abi/src/frame/mod.rs")),
    ("wasmill-abi/src/frame/read.rs", include_str!("../../../guest-sdk/abi/src/frame/read.rs")),
    ("wasmill-abi/src/frame/write.rs", include_str!("../../../guest-sdk/abi/src/frame/write.rs")),
    ("wasmill-abi/ABI.md", include_str!("../../../guest-sdk/abi/ABI.md")),
    ("wasmill-guest/src/lib.rs", include_str!("../../../guest-sdk/rust/src/lib.rs")),
    ("wasmill-guest/src/args.rs", include_str!("../../../guest-sdk/rust/src/args.rs")),
    ("wasmill-guest/src/columns.rs", include_str!("../../../guest-sdk/rust/src/columns.rs")),
    ("wasmill-guest/src/config.rs", include_str!("../../../guest-sdk/rust/src/config.rs")),
    ("wasmill-guest/src/decode.rs", include_str!("../../../guest-sdk/rust/src/decode.rs")),
    ("wasmill-guest/src/exports.rs", include_str!("../../../guest-sdk/rust/src/exports.rs")),
    ("wasmill-guest/src/fit.rs", include_str!("../../../guest-sdk/rust/src/fit.rs")),
    ("wasmill-guest/src/plugin.rs", include_str!("../../../guest-sdk/rust/src/plugin.rs")),
    ("wasmill-guest/src/results.rs", include_str!("../../../guest-sdk/rust/src/results.rs")),
    ("wasmill-guest/src/row.rs", include_str!("../../../guest-sdk/rust/src/row.rs")),
    ("wasmill-guest/src/show.rs", include_str!("../../../guest-sdk/rust/src/show.rs")),
    ("wasmill-guest/src/values.rs", include_str!("../../../guest-sdk/rust/src/values.rs")),
    ("wasmill-guest-macros/src/lib.rs", include_str!("../../../guest-sdk/rust/macros/src/lib.rs")),
    ("wasmill-guest-macros/src/signature.rs", include_str!("../../../guest-sdk/rust/macros/src/signature.rs")),
    ("LICENSE-NOTE", "These crates are part of Wasmill, Apache-2.0.\n"),
];

/// What was made.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaffold {
    pub folder: PathBuf,
    /// What to type next.
    pub next_steps: String,
}

/// The kind of plugin that a project begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScaffoldKind {
    Scalar,
    Decoder,
}

/// Makes the project `name` in `parent`. The folder must not exist yet.
pub fn scaffold(parent: &Path, lang: &str, kind: ScaffoldKind, name: &str) -> Result<Scaffold> {
    if lang != "rust" {
        return Err(Error::user(format!("--lang {lang}: this version makes projects in rust only"))
            .with_hint("for C see guest-sdk/c, for other languages guest-sdk/abi/ABI.md"));
    }
    check_name(name)?;
    let folder = parent.join(name);
    let failed = |path: &Path, e: std::io::Error| Error::user(format!("{}: {e}", path.display()));
    fs::create_dir(&folder).map_err(|e| failed(&folder, e))?;
    for (path, text) in project_files(kind, name) {
        let path = folder.join(path);
        let made = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, text));
        made.map_err(|e| failed(&path, e))?;
    }
    let next_steps = format!(
        "cd {}\ncargo build --release --target wasm32-unknown-unknown\nwasmill run job.sql\n",
        folder.display()
    );
    Ok(Scaffold { folder, next_steps })
}

fn check_name(name: &str) -> Result<()> {
    let starts_well = name.starts_with(|c: char| c.is_ascii_lowercase());
    let is_plain = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_');
    if starts_well && is_plain && name.len() <= 64 {
        return Ok(());
    }
    Err(Error::user(format!("'{name:.70}' cannot be a plugin's name"))
        .with_hint("lower-case letters, digits, - and _, a letter first, at most 64"))
}

fn project_files(kind: ScaffoldKind, name: &str) -> Vec<(String, String)> {
    let artifact = name.replace('-', "_");
    let mut files: Vec<(String, String)> = vec![
        ("Cargo.toml".into(), fill(include_str!("scaffold/Cargo.toml.txt"), name, &artifact)),
        ("README.md".into(), fill(include_str!("scaffold/README.md.txt"), name, &artifact)),
        (".gitignore".into(), "/target\n".into()),
        ("vendor/wasmill-abi/Cargo.toml".into(), manifest("wasmill-abi", "")),
        (
            "vendor/wasmill-guest/Cargo.toml".into(),
            manifest(
                "wasmill-guest",
                "\n[dependencies]\nwasmill-abi = { path = \"../wasmill-abi\" }\n\
                 wasmill-guest-macros = { path = \"../wasmill-guest-macros\" }\n",
            ),
        ),
        (
            "vendor/wasmill-guest-macros/Cargo.toml".into(),
            manifest("wasmill-guest-macros", "\n[lib]\nproc-macro = true\n"),
        ),
    ];
    let (code, job, input) = match kind {
        ScaffoldKind::Scalar => (
            include_str!("scaffold/lib.rs.txt"),
            include_str!("scaffold/job.sql.txt"),
            ("input.jsonl", include_str!("scaffold/input.jsonl")),
        ),
        ScaffoldKind::Decoder => (
            include_str!("scaffold/decoder.rs.txt"),
            include_str!("scaffold/decoder_job.sql.txt"),
            ("input.log", include_str!("scaffold/decoder_input.log")),
        ),
    };
    files.push(("src/lib.rs".into(), code.into()));
    files.push(("job.sql".into(), fill(job, name, &artifact)));
    files.push((input.0.into(), input.1.into()));
    files.extend(SDK.iter().map(|(path, text)| (format!("vendor/{path}"), text.to_string())));
    files
}

fn fill(template: &str, name: &str, artifact: &str) -> String {
    template.replace("{{name}}", name).replace("{{artifact}}", artifact)
}

/// The vendored crates stand alone, without the workspace that they come from.
fn manifest(name: &str, rest: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "[package]\nname = \"{name}\"\nversion = \"{version}\"\nedition = \"2024\"\nlicense = \"Apache-2.0\"\npublish = false\n{rest}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_of_the_sdk_travels() {
        let sdk = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guest-sdk");
        let homes = [
            ("abi/src", "wasmill-abi"),
            ("abi/src/frame", "wasmill-abi"),
            ("rust/src", "wasmill-guest"),
            ("rust/macros/src", "wasmill-guest-macros"),
        ];
        for (folder, krate) in homes {
            for file in fs::read_dir(sdk.join(folder)).unwrap() {
                let file = file.unwrap().path();
                if file.extension().is_none_or(|e| e != "rs") || file.ends_with("tests.rs") {
                    continue;
                }
                let text = fs::read_to_string(&file).unwrap();
                assert!(
                    SDK.iter().any(|(p, t)| p.starts_with(krate) && *t == text),
                    "{} does not travel",
                    file.display()
                );
            }
        }
    }

    #[test]
    fn names_that_cargo_would_refuse_are_refused() {
        let parent = tempfile::tempdir().unwrap();
        for name in ["", "1st", "../up", "Mask", "a b", &"x".repeat(65)] {
            assert!(scaffold(parent.path(), "rust", ScaffoldKind::Scalar, name).is_err(), "{name}");
        }
        assert!(
            scaffold(parent.path(), "cobol", ScaffoldKind::Scalar, "mask").unwrap_err().message.contains("rust only")
        );
    }

    #[test]
    fn an_existing_folder_is_left_alone() {
        let parent = tempfile::tempdir().unwrap();
        fs::create_dir(parent.path().join("mask")).unwrap();
        assert!(scaffold(parent.path(), "rust", ScaffoldKind::Decoder, "mask").is_err());
        assert_eq!(fs::read_dir(parent.path().join("mask")).unwrap().count(), 0);
    }
}
