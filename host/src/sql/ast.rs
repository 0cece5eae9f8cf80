//! The statements of a job file. Expressions and queries inside stay sqlparser's; everything of ours has a span.

use crate::data::{LogicalType, PathStep};
use crate::diagnostic::Span;
use sqlparser::ast as sp;

/// A name with its place. Flink's names are case-sensitive.
#[derive(Debug, Clone, PartialEq)]
pub struct Name {
    pub value: String,
    pub span: Span,
}

/// A job file: its statements in order.
#[derive(Debug, Clone, Default)]
pub struct Script {
    pub statements: Vec<Statement>,
    /// Names that statements with errors would have declared: "unknown table" about one of them would be noise.
    pub broken: Vec<String>,
}

#[derive(Debug, Clone)]
pub enum Statement {
    CreateTable(CreateTable),
    CreateView(CreateView),
    CreateFunction(CreateFunction),
    Insert(Insert),
    /// `SET 'key' = 'value'`
    Set(SetOption),
}

#[derive(Debug, Clone)]
pub struct CreateTable {
    pub name: Name,
    pub if_not_exists: bool,
    pub temporary: bool,
    pub columns: Vec<ColumnSpec>,
    pub primary_key: Option<PrimaryKey>,
    pub watermark: Option<WatermarkSpec>,
    /// The side-table marker of flinkStreamSQL.
    pub period_for_system_time: Option<Span>,
    pub comment: Option<String>,
    pub options: WithOptions,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub struct ColumnSpec {
    pub name: Name,
    pub kind: ColumnKind,
    pub comment: Option<String>,
}

#[derive(Debug, Clone)]
pub enum ColumnKind {
    Physical {
        data_type: LogicalType,
        type_span: Span,
        not_null: bool,
        /// `a.b[0].c type AS name`; None: the member named like the column.
        path: Option<Vec<PathStep>>,
    },
    /// `name AS expr` or, flinkStreamSQL, `expr AS name`.
    Computed(Box<sp::Expr>),
    /// `name type METADATA [FROM 'key'] [VIRTUAL]`
    Metadata { data_type: LogicalType, key: Option<String>, is_virtual: bool },
}

#[derive(Debug, Clone)]
pub struct PrimaryKey {
    pub columns: Vec<Name>,
    pub not_enforced: bool,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub enum WatermarkSpec {
    /// `WATERMARK FOR column AS expr`
    Expr { column: Name, expr: Box<sp::Expr>, span: Span },
    /// `WATERMARK FOR column AS withOffset(column, millis)`
    WithOffset { column: Name, millis: u64, span: Span },
}

/// WITH options in the order written. Keys keep their spelling; duplicates were reported.
#[derive(Debug, Clone, Default)]
pub struct WithOptions {
    pub entries: Vec<WithOption>,
    /// The whole clause, for "option X is missing".
    pub span: Span,
}

#[derive(Debug, Clone)]
pub struct WithOption {
    pub key: String,
    pub value: String,
    pub key_span: Span,
    pub value_span: Span,
}

#[derive(Debug, Clone)]
pub struct CreateView {
    pub name: Name,
    pub if_not_exists: bool,
    /// Column names given after the view's name.
    pub columns: Vec<Name>,
    pub query: Box<sp::Query>,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub struct CreateFunction {
    pub name: Name,
    pub if_not_exists: bool,
    pub kind: FunctionKind,
    pub source: FunctionSource,
    pub options: WithOptions,
    pub span: Span,
}

/// What flinkStreamSQL says in front of FUNCTION; plain CREATE FUNCTION says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FunctionKind {
    Scalar,
    Table,
    Aggregate,
    Unspecified,
}

#[derive(Debug, Clone)]
pub enum FunctionSource {
    /// `AS 'exported name' LANGUAGE WASM USING 'path.wasm'`
    Wasm { exported: String, path: String, exported_span: Span, path_span: Span },
    /// `WITH a.b.C` or `AS 'a.b.C'`: a class name, to be found in plugins.toml
    Class { class: String, span: Span },
}

#[derive(Debug, Clone)]
pub struct Insert {
    pub table: Name,
    /// Explicit column list, if any.
    pub columns: Vec<Name>,
    pub query: Box<sp::Query>,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub struct SetOption {
    pub key: Name,
    pub value: String,
    pub value_span: Span,
}
