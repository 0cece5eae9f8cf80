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

/// `[[catalog.]database.]name`; what stands before the name is checked and dropped by `sql::sequence`.
#[derive(Debug, Clone)]
pub struct ObjectPath {
    pub qualifier: Vec<Name>,
    pub name: Name,
}

impl ObjectPath {
    pub fn span(&self) -> Span {
        self.qualifier.first().map_or(self.name.span, |q| q.span.to(self.name.span))
    }
}

/// A job file: its statements in order. After `sql::sequence` only declarations, INSERTs, settings and questions are
/// left.
#[derive(Debug, Clone, Default)]
pub struct Script {
    pub statements: Vec<Statement>,
    /// Names that statements with errors would have declared: "unknown table" about one of them would be noise.
    pub broken: Vec<String>,
}

impl Script {
    /// Those to be run and those to be explained.
    pub fn inserts(&self) -> impl Iterator<Item = &Insert> {
        self.statements.iter().filter_map(|s| match s {
            Statement::Insert(i) | Statement::Explain(Explain { what: Explained::Insert(i), .. }) => Some(i),
            _ => None,
        })
    }
}

#[derive(Debug, Clone)]
pub enum Statement {
    CreateTable(CreateTable),
    CreateView(CreateView),
    CreateFunction(CreateFunction),
    Insert(Insert),
    /// `SET 'key' = 'value'`
    Set(SetOption),
    Explain(Explain),
    Show(Show),
    // What follows changes or groups other statements; `sql::sequence` does what they say and takes them out.
    /// flinkStreamSQL: a view that an INSERT fills.
    DeclareView(DeclareView),
    /// `RESET ['key']`
    Reset(Option<Name>),
    Drop(Drop),
    AlterTable(AlterTable),
    CreateCatalog(CreateCatalog),
    CreateDatabase(CreateDatabase),
    Use(Use),
    /// `BEGIN STATEMENT SET`, `EXECUTE | EXPLAIN STATEMENT SET BEGIN`
    BeginSet {
        explain: bool,
        span: Span,
    },
    /// `END`
    EndSet(Span),
}

#[derive(Debug, Clone)]
pub struct CreateTable {
    pub qualifier: Vec<Name>,
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
    /// Taken out by `sql::sequence`, which copies what it names.
    pub like: Option<Box<LikeClause>>,
    pub span: Span,
}

/// `LIKE base [(INCLUDING .. EXCLUDING ..)]`
#[derive(Debug, Clone)]
pub struct LikeClause {
    pub base: ObjectPath,
    pub options: Vec<LikeOption>,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub struct LikeOption {
    pub merging: Merging,
    /// None: ALL
    pub feature: Option<LikeFeature>,
    pub span: Span,
}

/// How what the base table has and what the new table says come together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merging {
    /// Both; the same thing in both is an error.
    Including,
    Excluding,
    /// Both; the new table's wins.
    Overwriting,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LikeFeature {
    Constraints,
    Distribution,
    Generated,
    Metadata,
    Options,
    Partitions,
    Watermarks,
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
    pub qualifier: Vec<Name>,
    pub name: Name,
    pub if_not_exists: bool,
    /// Column names given after the view's name.
    pub columns: Vec<Name>,
    pub query: Box<sp::Query>,
    pub span: Span,
}

/// `CREATE VIEW v (a type, b type)`, without a query
#[derive(Debug, Clone)]
pub struct DeclareView {
    pub path: ObjectPath,
    pub columns: Vec<(Name, Option<LogicalType>)>,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub struct CreateFunction {
    pub qualifier: Vec<Name>,
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
    pub qualifier: Vec<Name>,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectKind {
    Table,
    View,
    Function,
}

impl ObjectKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::View => "view",
            Self::Function => "function",
        }
    }
}

#[derive(Debug, Clone)]
pub struct Drop {
    pub kind: ObjectKind,
    pub path: ObjectPath,
    pub if_exists: bool,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub struct AlterTable {
    pub path: ObjectPath,
    pub if_exists: bool,
    pub action: AlterAction,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub enum AlterAction {
    RenameTo(ObjectPath),
    Set(WithOptions),
    Reset(Vec<Name>),
}

#[derive(Debug, Clone)]
pub struct CreateCatalog {
    pub name: Name,
    pub if_not_exists: bool,
    pub options: WithOptions,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub struct CreateDatabase {
    /// `[catalog.]database`
    pub path: ObjectPath,
    pub if_not_exists: bool,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub enum Use {
    Catalog(Name),
    /// `USE [catalog.]database`
    Database(ObjectPath),
}

#[derive(Debug, Clone)]
pub struct Explain {
    pub what: Explained,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub enum Explained {
    Insert(Insert),
    Query(Box<sp::Query>),
}

/// SHOW and DESCRIBE.
#[derive(Debug, Clone)]
pub struct Show {
    pub what: Shown,
    /// The statement in capitals, for messages.
    pub title: String,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub enum Shown {
    Tables,
    Views,
    Functions,
    Catalogs,
    Databases,
    CurrentCatalog,
    CurrentDatabase,
    /// `DESCRIBE t`
    Columns(ObjectPath),
}
