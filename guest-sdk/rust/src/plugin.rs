//! The calls of the ABI, on bytes: no pointers here, so that all of it can be tested on any machine.

use crate::columns::{OutColumn, RowErrors};
use crate::config::Config;
use crate::decode::Decoding;
use crate::row::{Row, RowKind};
use std::any::Any;
use std::sync::{Mutex, PoisonError};
use wasmill_abi::{
    Bundle, Check, Column, Frame, FrameError, FramePlan, PROCESS_HEADER, RESPONSE_HEADER, Schema, Status,
    row_errors_len, section, write_row_errors,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Scalar,
    Formatter,
    Decoder,
}

/// A function as its attribute describes it.
pub struct Function {
    pub plugin: &'static str,
    pub version: &'static str,
    pub name: &'static str,
    pub kind: Kind,
    pub deterministic: bool,
    pub arguments: fn() -> Vec<String>,
    pub result: fn() -> String,
    pub process: fn(&Input, &mut Answer) -> Result<(), FrameError>,
}

static FUNCTIONS: Mutex<Vec<&'static Function>> = Mutex::new(Vec::new());

/// Called before anything else, once for each function.
pub fn register(function: &'static Function) {
    functions().push(function);
}

fn functions() -> std::sync::MutexGuard<'static, Vec<&'static Function>> {
    FUNCTIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The rows of one call.
pub struct Input<'a> {
    pub columns: &'a [Column<'a>],
    pub rows: usize,
    pub config: &'a Config,
    /// The columns of the answer.
    pub output: &'a Schema,
    kinds: Option<&'a [u8]>,
}

impl<'a> Input<'a> {
    /// Bytes of text in all columns, as a guess at the size of the answer.
    pub fn bytes(&self) -> usize {
        self.columns.iter().map(|c| if c.offsets.is_empty() { 0 } else { c.data.len() }).sum()
    }

    /// A decoder's record; None: it has no value.
    pub fn record(&self, index: usize) -> Option<&'a [u8]> {
        self.columns.first().filter(|c| c.is_valid(index)).map(|c| c.bytes(index))
    }

    pub fn row(&self, index: usize) -> Row<'a> {
        let kind = self.kinds.and_then(|k| k.get(index)).map_or(RowKind::Insert, |b| RowKind::from_byte(*b));
        Row { columns: self.columns, index, kind }
    }
}

/// Where the answer is written; its buffer serves one call after the other.
#[derive(Default)]
pub struct Answer {
    pub bytes: Vec<u8>,
    plan: FramePlan,
    rows: usize,
    fingerprint: u64,
    /// The column of the last call.
    column: Option<Box<dyn Any>>,
}

impl Answer {
    /// A column for this call's rows: the last call's, if it was of this type.
    pub fn column<C: OutColumn>(&mut self, rows: usize, bytes: usize) -> Box<C> {
        let kept = self.column.take().and_then(|c| c.downcast::<C>().ok());
        let mut column = kept.unwrap_or_default();
        column.reset(rows, bytes);
        column
    }

    /// Writes the frame of one column and the errors.
    pub fn finish<C: OutColumn>(&mut self, column: Box<C>, errors: &RowErrors) -> Result<(), FrameError> {
        self.write(&*column, errors)?;
        self.column = Some(column);
        Ok(())
    }

    fn write<C: OutColumn>(&mut self, column: &C, errors: &RowErrors) -> Result<(), FrameError> {
        let errors = &errors.list;
        self.plan.reset(self.rows, self.fingerprint);
        column.plan(&mut self.plan);
        if !errors.is_empty() {
            self.plan.section(section::ROW_ERRORS, row_errors_len(errors.iter().map(|(_, m)| m.as_str())));
        }
        // Every byte is overwritten, so an old answer need not be cleared.
        self.bytes.resize(RESPONSE_HEADER + self.plan.layout()?, 0);
        let (head, frame) = self.bytes.split_at_mut(RESPONSE_HEADER);
        head.fill(0);
        let mut out = self.plan.start(frame)?;
        column.fill(&mut out);
        if !errors.is_empty() {
            write_row_errors(out.buffer(), errors);
        }
        Ok(())
    }

    /// Writes the frame of any number of rows.
    pub fn finish_rows(&mut self, rows: &Decoding) -> Result<(), FrameError> {
        let frame = rows.frame()?;
        self.set(Status::Ok, &frame);
        Ok(())
    }

    fn set(&mut self, status: Status, payload: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(&(status as u32).to_le_bytes());
        self.bytes.extend_from_slice(&[0; 4]);
        self.bytes.extend_from_slice(payload);
    }

    /// Frees a buffer that one large answer made large.
    pub fn shrink(&mut self) {
        const KEPT: usize = 4 << 20;
        if self.bytes.capacity() > KEPT {
            self.bytes = Vec::new();
        }
    }
}

/// An opened function.
struct Open {
    function: &'static Function,
    config: Config,
    input: Schema,
    output: Schema,
}

/// The state of an instance.
#[derive(Default)]
pub struct Plugin {
    open: Vec<Option<Open>>,
    pub answer: Answer,
}

impl Plugin {
    pub fn describe(&mut self) {
        let mut functions = functions().clone();
        // The linker's order is nobody's order.
        functions.sort_by_key(|f| f.name);
        let list: Vec<String> = functions.iter().map(|f| describe_function(f)).collect();
        let (name, version) = functions.first().map_or(("", ""), |f| (f.plugin, f.version));
        let json =
            format!(r#"{{"name":{},"version":{},"functions":[{}]}}"#, quote(name), quote(version), list.join(","));
        self.answer.set(Status::Ok, json.as_bytes());
    }

    pub fn open(&mut self, request: &[u8]) {
        match self.try_open(request) {
            Ok(handle) => self.answer.set(Status::Ok, &handle.to_le_bytes()),
            Err((status, text)) => self.answer.set(status, text.as_bytes()),
        }
    }

    fn try_open(&mut self, request: &[u8]) -> Result<u32, (Status, String)> {
        let internal = |e: FrameError| (Status::Internal, e.to_string());
        let request = Bundle::parse(request).map_err(internal)?;
        let name = request.text(0).map_err(internal)?;
        let Some(function) = functions().iter().find(|f| f.name == name).copied() else {
            return Err((Status::Unsupported, format!("there is no function {name}")));
        };
        let config = Bundle::parse(request.part(1).map_err(internal)?).and_then(|b| b.pairs()).map_err(internal)?;
        let output = Schema::parse(request.part(2).map_err(internal)?).map_err(internal)?;
        let input = Schema::parse(request.part(3).map_err(internal)?).map_err(internal)?;
        if function.kind == Kind::Scalar {
            check_arguments(function, &input).map_err(|e| (Status::Refused, e))?;
        }
        let open = Open { function, config: Config::new(config), input, output };
        let free = self.open.iter().position(Option::is_none).unwrap_or(self.open.len());
        if free == self.open.len() {
            self.open.push(None);
        }
        self.open[free] = Some(open);
        Ok(free as u32)
    }

    pub fn process(&mut self, request: &[u8]) {
        let Plugin { open, answer } = self;
        let result = word(request)
            .and_then(|handle| open.get(handle as usize)?.as_ref())
            .ok_or_else(|| "no such handle".to_string())
            .and_then(|open| process(open, &request[PROCESS_HEADER..], answer).map_err(|e| e.to_string()));
        if let Err(text) = result {
            answer.set(Status::Internal, text.as_bytes());
        }
    }

    pub fn close(&mut self, request: &[u8]) {
        if let Some(place) = word(request).and_then(|handle| self.open.get_mut(handle as usize)) {
            *place = None;
        }
        self.answer.set(Status::Ok, &[]);
    }
}

fn word(request: &[u8]) -> Option<u32> {
    request.get(..PROCESS_HEADER)?;
    Some(u32::from_le_bytes(request.get(..4)?.try_into().ok()?))
}

fn process(open: &Open, frame: &[u8], answer: &mut Answer) -> Result<(), FrameError> {
    let frame = Frame::parse(frame)?;
    let columns = frame.columns(&open.input, Check::Buffers)?;
    let kinds = frame.row_section(section::ROW_KIND, 1)?;
    answer.rows = frame.rows();
    answer.fingerprint = open.output.fingerprint();
    let input = Input { columns: &columns, rows: frame.rows(), config: &open.config, output: &open.output, kinds };
    (open.function.process)(&input, answer)
}

/// The host has cast the arguments to what `wmdescribe` said; a mistake here would be read as garbage.
fn check_arguments(function: &Function, input: &Schema) -> Result<(), String> {
    let wanted = (function.arguments)();
    if wanted.len() != input.fields().len() {
        return Err(format!("{} takes {} arguments, {} given", function.name, wanted.len(), input.fields().len()));
    }
    for (i, (wanted, field)) in wanted.iter().zip(input.fields()).enumerate() {
        if field.ty.to_string() != *wanted {
            return Err(format!("argument {} of {} is a {}, not a {wanted}", i + 1, function.name, field.ty));
        }
    }
    Ok(())
}

fn describe_function(f: &Function) -> String {
    let name = quote(f.name);
    match f.kind {
        Kind::Scalar => {
            let arguments: Vec<String> = (f.arguments)().iter().map(|a| quote(a)).collect();
            format!(
                r#"{{"name":{name},"kind":"scalar","arguments":[{}],"result":{},"deterministic":{}}}"#,
                arguments.join(","),
                quote(&(f.result)()),
                f.deterministic
            )
        }
        Kind::Formatter => format!(r#"{{"name":{name},"kind":"formatter"}}"#),
        Kind::Decoder => format!(r#"{{"name":{name},"kind":"decoder"}}"#),
    }
}

/// A JSON string.
fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
