//! Stand-ins: local files (or the standard streams) in the place of any table, so that a job can be rehearsed without
//! its servers.
//!
//! Reading goes by the file's ending: `.jsonl` one JSON object a line, `.csv` with a header line, anything else raw
//! records of the table's own format, one a line. Writing gives `.jsonl`, or with another ending what the table's own
//! format gives. `-` is standard input or output, as `.jsonl`. A final `.gz` is read through.

use super::api::{
    Boundedness, FailedRow, FormatBinding, LookupSource, Sink, SinkWriter, Source, SourceReader, SourceSplit,
    SubtaskContext, TableContext,
};
use super::local::load::{FileLookup, reload_interval};
use super::local::reader::{Compression, FileReader, FileSplit};
use super::local::records::RecordSpec;
use super::local::sink::{LineEncoder, write_stream};
use super::native_format::NativeFormat;
use crate::data::{Batch, ChangelogMode, PathStep, RowError, TableSchema};
use crate::error::{Error, Result};
use crate::files::append_lines;
use crate::formats::json::{JsonEncoder, KindMember, is_json};
use crate::formats::{self, Decoder, FormatContext, Framing};
use crate::sql::options::{OptionEntry, OptionValue, ResolvedOptions};
use async_trait::async_trait;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// `--stand-in TABLE=PATH`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandIn {
    /// The SQL name of the table that is replaced.
    pub table: String,
    place: Place,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    /// Standard input or output.
    Stream,
    /// Relative to the working folder.
    File(PathBuf),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    JsonLines,
    Csv,
    Other,
}

/// How the job uses the table that is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadAs {
    Source,
    /// Side tables have no format of their own to follow.
    SideTable,
}

impl StandIn {
    /// Reads `TABLE=PATH`; a user error says what is wrong with it.
    pub fn parse(text: &str) -> Result<StandIn> {
        let refuse = |what: &str| {
            Error::user(format!("--stand-in {text}: {what}")).with_hint("it is TABLE=PATH, say orders=orders.jsonl")
        };
        let (table, path) = text.split_once('=').ok_or_else(|| refuse("there is no '='"))?;
        let table = table.trim().trim_matches('`');
        match (table, path) {
            ("", _) => Err(refuse("there is no table before the '='")),
            (_, "") => Err(refuse("there is no path after the '='")),
            (table, "-") => Ok(StandIn { table: table.into(), place: Place::Stream }),
            (table, path) => Ok(StandIn { table: table.into(), place: Place::File(path.into()) }),
        }
    }

    /// For messages and for `explain`.
    pub fn describe(&self) -> String {
        match &self.place {
            Place::Stream => "-".into(),
            Place::File(path) => path.display().to_string(),
        }
    }

    pub fn is_stream(&self) -> bool {
        self.place == Place::Stream
    }

    /// None for a standard stream.
    pub fn file(&self) -> Option<&Path> {
        match &self.place {
            Place::Stream => None,
            Place::File(path) => Some(path),
        }
    }

    fn ending(&self) -> Ending {
        let Place::File(path) = &self.place else { return Ending::JsonLines };
        let stem;
        let path = if Compression::of(path).is_some() {
            stem = path.with_extension("");
            stem.as_path()
        } else {
            path.as_path()
        };
        match path.extension().map(|e| e.to_ascii_lowercase()) {
            Some(e) if e == "jsonl" => Ending::JsonLines,
            Some(e) if e == "csv" => Ending::Csv,
            _ => Ending::Other,
        }
    }

    /// The table's context with the format that reads the stand-in; everything below takes such a context.
    /// `null_on_error` as in [`FormatContext`].
    pub fn reading(&self, cx: &TableContext, role: ReadAs, null_on_error: bool) -> Result<TableContext> {
        let by_name = |identifier: &str, options: ResolvedOptions| {
            let format = FormatContext {
                table: cx.table.clone(),
                schema: schema_by_name(&cx.schema),
                options,
                time_zone: cx.time_zone,
                null_on_error,
                declared: None,
                record_width: None,
            };
            NativeFormat::bind(identifier, format)
        };
        let own_json = cx.format.as_ref().filter(|f| role == ReadAs::Source && is_json(f.identifier()));
        let format = match (self.ending(), own_json) {
            (Ending::JsonLines, Some(own)) => own.clone(),
            (Ending::JsonLines, None) => by_name("json", ResolvedOptions::default())?,
            (Ending::Csv, _) => by_name("csv", header_option())?,
            (Ending::Other, _) => self.own_text_format(cx, "read")?,
        };
        Ok(TableContext { format: Some(format), ..cx.clone() })
    }

    /// The declared format, for records one a line.
    fn own_text_format(&self, cx: &TableContext, doing: &str) -> Result<Arc<dyn FormatBinding>> {
        let refuse = |what: String| {
            Error::user(format!("table {}: the stand-in {} cannot be {doing}: {what}", cx.table, self.describe()))
                .with_hint("a name that ends in .jsonl works for every table")
        };
        let Some(format) = &cx.format else {
            return Err(refuse("the table has no record format".into()));
        };
        if formats::find(format.identifier()).is_some_and(|f| !f.is_text()) {
            return Err(refuse(format!("the format {} is binary", format.identifier())));
        }
        Ok(format.clone())
    }

    fn record_spec(&self, cx: &TableContext) -> Result<RecordSpec> {
        Ok(RecordSpec {
            table: cx.table.clone(),
            framing: cx.format()?.framing(),
            max_record_bytes: cx.max_record_bytes,
            first_line: 1,
        })
    }

    fn splits(&self, table: &str) -> Result<Vec<SourceSplit>> {
        let Place::File(path) = &self.place else { return Ok(vec![FileSplit::stdin()?]) };
        let about = std::fs::metadata(path).map_err(|e| self.io_error(table, "read", &e))?;
        if about.is_dir() {
            return Err(Error::external(format!("table {table}: the stand-in {} is a folder", path.display())));
        }
        Ok(vec![FileSplit::whole(path.clone(), about.len())?])
    }

    fn io_error(&self, table: &str, doing: &str, e: &std::io::Error) -> Error {
        Error::external(format!("table {table}: cannot {doing} the stand-in {}: {e}", self.describe()))
            .with_hint("paths of stand-ins start at the working folder")
    }

    /// A source that reads the stand-in. `cx` is from [`Self::reading`]; its format decodes the records.
    pub fn source(&self, cx: &TableContext) -> Result<Box<dyn Source>> {
        Ok(Box::new(StandInSource {
            stand_in: self.clone(),
            spec: self.record_spec(cx)?,
            format: cx.format()?.clone(),
        }))
    }

    /// A side table in the stand-in. `cx` is from [`Self::reading`].
    pub fn lookup(&self, cx: &TableContext) -> Result<Box<dyn LookupSource>> {
        let (stand_in, table) = (self.clone(), cx.table.clone());
        Ok(Box::new(FileLookup {
            spec: self.record_spec(cx)?,
            format: cx.format()?.clone(),
            splits: Box::new(move || stand_in.splits(&table)),
            // Standard input cannot be read twice.
            reload: reload_interval(&cx.options).filter(|_| !self.is_stream()),
        }))
    }

    /// A sink that writes the stand-in. `updating`: the stream has updates and deletes, so each row names its kind.
    pub fn sink(&self, cx: &TableContext, updating: bool) -> Result<Box<dyn Sink>> {
        let own = match self.ending() {
            Ending::JsonLines => None,
            Ending::Csv | Ending::Other => Some(self.own_text_format(cx, "written")?),
        };
        if updating && own.is_some() {
            let message =
                format!("table {}: the stand-in {} would lose which rows are updates", cx.table, self.describe());
            return Err(Error::user(message).with_hint("give it a name that ends in .jsonl"));
        }
        let kind = if updating { KindMember::Always } else { KindMember::WhenPresent };
        Ok(Box::new(StandInSink {
            stand_in: self.clone(),
            table: cx.table.clone(),
            schema: cx.schema.clone(),
            kind,
            own,
            out: Arc::new(StandInOutput { stand_in: self.clone(), table: cx.table.clone(), file: Mutex::new(None) }),
        }))
    }
}

/// Columns are members or header fields of their own name, whatever path they have in the table's real records.
fn schema_by_name(schema: &TableSchema) -> TableSchema {
    let mut schema = schema.clone();
    for column in &mut schema.columns {
        column.path = vec![PathStep::Member(column.name.clone())];
    }
    schema
}

fn header_option() -> ResolvedOptions {
    let mut options = ResolvedOptions::default();
    let entry = OptionEntry {
        value: OptionValue::Bool(true),
        text: "true".into(),
        key: "header".into(),
        span: None,
        sensitive: false,
    };
    options.entries.insert("header", entry);
    options
}

struct StandInSource {
    stand_in: StandIn,
    spec: RecordSpec,
    format: Arc<dyn FormatBinding>,
}

#[async_trait]
impl Source for StandInSource {
    fn boundedness(&self) -> Boundedness {
        Boundedness::Bounded
    }
    fn changelog_mode(&self) -> ChangelogMode {
        self.format.changelog_mode()
    }
    async fn enumerate(&self, _parallelism: usize) -> Result<Vec<SourceSplit>> {
        self.stand_in.splits(&self.spec.table)
    }
    async fn restore(&self, splits: Vec<SourceSplit>, _parallelism: usize) -> Result<Vec<SourceSplit>> {
        match (self.stand_in.is_stream(), splits.first()) {
            (true, Some(split)) => {
                let message = format!(
                    "table {}: standard input cannot be read again from line {}",
                    self.spec.table,
                    split.detail["line"].as_u64().unwrap_or(1)
                );
                Err(Error::user(message).with_hint("put the records into a file"))
            }
            _ => Ok(splits),
        }
    }
    fn decoder(&self) -> Result<Option<Box<dyn Decoder>>> {
        self.format.decoder().map(Some)
    }
    fn reader(&self, _cx: &SubtaskContext) -> Result<Box<dyn SourceReader>> {
        Ok(Box::new(FileReader::new(self.spec.clone())))
    }
}

struct StandInSink {
    stand_in: StandIn,
    table: Arc<str>,
    schema: TableSchema,
    kind: KindMember,
    /// The table's format; None: JSON lines.
    own: Option<Arc<dyn FormatBinding>>,
    out: Arc<StandInOutput>,
}

impl StandInSink {
    fn lines(&self) -> Result<LineEncoder> {
        Ok(match &self.own {
            Some(format) => LineEncoder::new(format.encoder()?, format.framing()),
            None => LineEncoder::new(Box::new(JsonEncoder::plain(&self.schema, self.kind)), Framing::Lines),
        })
    }
}

#[async_trait]
impl Sink for StandInSink {
    fn changelog_mode(&self) -> ChangelogMode {
        self.own.as_ref().map_or(ChangelogMode::All, |format| format.changelog_mode())
    }
    fn max_parallelism(&self) -> Option<usize> {
        Some(1)
    }
    async fn prepare(&self, restored: Option<Vec<serde_json::Value>>) -> Result<()> {
        if let Place::File(path) = &self.stand_in.place {
            let opened = if restored.is_some() { append_lines(path) } else { File::create(path) };
            let file = opened.map_err(|e| self.stand_in.io_error(&self.table, "write", &e))?;
            let is_continued = restored.is_some() && file.metadata().is_ok_and(|m| m.len() > 0);
            *self.out.file.lock().unwrap_or_else(PoisonError::into_inner) = Some(BufWriter::new(file));
            if is_continued {
                return Ok(());
            }
        }
        self.out.put(&self.lines()?.header().unwrap_or_default())
    }
    fn writer(&self, _cx: &SubtaskContext) -> Result<Box<dyn SinkWriter>> {
        Ok(Box::new(StandInWriter { lines: self.lines()?, out: self.out.clone() }))
    }
}

struct StandInWriter {
    lines: LineEncoder,
    out: Arc<StandInOutput>,
}

/// The one file (or stream) that all writers of the table share: several INSERTs may name it.
struct StandInOutput {
    stand_in: StandIn,
    table: Arc<str>,
    /// None: standard output.
    file: Mutex<Option<BufWriter<File>>>,
}

impl StandInOutput {
    /// Whole records: those of two writers do not mix.
    fn put(&self, bytes: &[u8]) -> Result<()> {
        match &mut *self.file.lock().unwrap_or_else(PoisonError::into_inner) {
            None => write_stream(false, bytes),
            Some(file) => file.write_all(bytes).map_err(|e| self.stand_in.io_error(&self.table, "write", &e)),
        }
    }

    fn flush(&self) -> Result<()> {
        match &mut *self.file.lock().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some(file) => file.flush().map_err(|e| self.stand_in.io_error(&self.table, "write", &e)),
        }
    }
}

#[async_trait(?Send)]
impl SinkWriter for StandInWriter {
    async fn write(&mut self, batch: &Batch, errors: &mut Vec<RowError>) -> Result<()> {
        self.out.put(self.lines.encode(batch, b"", errors)?)
    }

    async fn flush(&mut self, _failed: &mut Vec<FailedRow>) -> Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connectors::testing::{batch, block_on, context, load, read_all, with_format, write_all};
    use crate::data::{Column, LogicalType as T, RowKind};
    use crate::formats::testing::column;
    use std::fs;

    fn stand_in(dir: &Path, name: &str) -> StandIn {
        StandIn::parse(&format!("t={}", dir.join(name).display())).unwrap()
    }

    fn with_path(name: &str, steps: &[&str]) -> Column {
        Column { path: steps.iter().map(|s| PathStep::Member(s.to_string())).collect(), ..column(name, T::Int) }
    }

    #[test]
    fn the_argument_is_table_equals_path() {
        let s = StandIn::parse("a.b=x=y.jsonl").unwrap();
        assert_eq!((s.table.as_str(), s.describe().as_str()), ("a.b", "x=y.jsonl"));
        assert!(StandIn::parse("t=-").unwrap().is_stream());
        for bad in ["t", "=x", "t="] {
            assert!(StandIn::parse(bad).err().unwrap().message.starts_with(&format!("--stand-in {bad}: ")));
        }
    }

    #[test]
    fn json_lines_follow_paths_only_for_tables_with_a_json_format() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("f.jsonl"), "{\"p\":{\"q\":1},\"x\":2}\n").unwrap();
        let s = stand_in(dir.path(), "f.jsonl");
        let plain = context(dir.path(), vec![with_path("x", &["p", "q"])], &[]);
        let rows = |cx: &TableContext, role| {
            let cx = s.reading(cx, role, false).unwrap();
            read_all(s.source(&cx).unwrap().as_ref(), 2).unwrap().0
        };
        assert_eq!(rows(&with_format(plain.clone(), "dt_nest", &[]), ReadAs::Source), [(1, r#"{"x":1}"#.to_string())]);
        assert_eq!(rows(&with_format(plain.clone(), "csv", &[]), ReadAs::Source), [(1, r#"{"x":2}"#.to_string())]);
        assert_eq!(rows(&plain, ReadAs::Source), [(1, r#"{"x":2}"#.to_string())]);
        let side = s.reading(&with_format(plain, "json", &[]), ReadAs::SideTable, false).unwrap();
        assert_eq!(load(s.lookup(&side).unwrap().as_ref()).unwrap().0, [r#"{"x":2}"#]);
    }

    #[test]
    fn csv_has_a_header_and_other_endings_the_tables_own_records() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("f.csv"), "b,a\n9,1\n").unwrap();
        fs::write(dir.path().join("f.txt"), "1|2\n3|x\n").unwrap();
        let cx = context(dir.path(), vec![column("a", T::Int), column("b", T::Int)], &[]);
        let cx = with_format(cx, "csv", &[("field-delimiter", "|")]);
        for (name, expected, bad) in [("f.csv", r#"{"a":1,"b":9}"#, 0), ("f.txt", r#"{"a":1,"b":2}"#, 1)] {
            let s = stand_in(dir.path(), name);
            let cx = s.reading(&cx, ReadAs::Source, false).unwrap();
            let (rows, refused) = read_all(s.source(&cx).unwrap().as_ref(), 1).unwrap();
            assert_eq!((rows[0].1.as_str(), refused.len()), (expected, bad));
        }
    }

    #[test]
    fn a_table_without_records_needs_json_lines_or_csv() {
        let dir = tempfile::tempdir().unwrap();
        let cx = context(dir.path(), vec![column("a", T::Int)], &[]);
        let s = stand_in(dir.path(), "f.txt");
        let error = s.reading(&cx, ReadAs::Source, false).err().unwrap();
        assert!(error.message.contains("has no record format") && error.domain.exit_code() == 2, "{error}");
        assert!(s.sink(&cx, false).err().unwrap().message.contains("cannot be written"));
    }

    #[test]
    fn a_sink_replaces_its_file_and_names_kinds_when_the_stream_updates() {
        let dir = tempfile::tempdir().unwrap();
        let columns = vec![column("n", T::Decimal(4, 2)), column("ts", T::Timestamp(3)), column("b", T::BYTES)];
        let cx = with_format(context(dir.path(), columns.clone(), &[]), "csv", &[]);
        let line = r#"{"n":1.50,"ts":"2020-01-01 00:00:00.5","b":"AQ=="}"#;
        let mut rows = batch(&columns, &[line, "{}"]);
        let s = stand_in(dir.path(), "o.jsonl");
        let content = || fs::read_to_string(dir.path().join("o.jsonl")).unwrap();
        for _ in 0..2 {
            write_all(s.sink(&cx, false).unwrap().as_ref(), &[rows.clone()]).unwrap();
            assert_eq!(content(), format!("{line}\n{{\"n\":null,\"ts\":null,\"b\":null}}\n"));
        }
        rows.kinds = Some([RowKind::UpdateBefore, RowKind::UpdateAfter].into());
        write_all(s.sink(&cx, true).unwrap().as_ref(), &[rows.clone()]).unwrap();
        assert!(content().starts_with(r#"{"$kind":"-U","n":1.50,"#), "{}", content());

        let other = stand_in(dir.path(), "o.txt");
        rows.kinds = None;
        write_all(other.sink(&cx, false).unwrap().as_ref(), &[rows]).unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("o.txt")).unwrap(), "1.50,2020-01-01 00:00:00.5,AQ==\n,,\n");
        assert!(other.sink(&cx, true).err().unwrap().message.contains("would lose which rows are updates"));
    }

    #[test]
    fn a_stand_in_that_is_not_there_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let cx = context(dir.path(), vec![column("a", T::Int)], &[]);
        let s = stand_in(dir.path(), "no.jsonl");
        let cx = s.reading(&cx, ReadAs::Source, false).unwrap();
        let error = block_on(s.source(&cx).unwrap().enumerate(1)).unwrap_err();
        assert!(error.message.contains("cannot read the stand-in") && error.message.contains("no.jsonl"), "{error}");
        let s = StandIn::parse("t=/no/such/folder/o.jsonl").unwrap();
        assert!(
            block_on(s.sink(&cx, false).unwrap().prepare(None))
                .unwrap_err()
                .message
                .contains("/no/such/folder/o.jsonl")
        );
        fs::write(dir.path().join("e.jsonl"), "").unwrap();
        let s = stand_in(dir.path(), "e.jsonl");
        assert_eq!(read_all(s.source(&cx).unwrap().as_ref(), 1).unwrap(), (vec![], vec![]));
    }
}
