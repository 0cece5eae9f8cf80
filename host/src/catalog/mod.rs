//! The tables, views and functions of a job, resolved: dialect, connector, columns and options of each.

mod build;
mod columns;
pub mod common;
mod describe;
mod format;

pub use build::build;
pub use describe::{column_text, describe};

use crate::connectors::api::{ConnectorFactory, KeyLayout};
use crate::data::{Column, LogicalType, PathStep};
use crate::diagnostic::Span;
use crate::sql::ast::{CreateFunction, CreateView, WatermarkSpec};
use crate::sql::options::{Dialect, ResolvedOptions};
use indexmap::IndexMap;

/// A declared table with everything that can be known without a connection.
#[derive(Clone)]
pub struct TableDescriptor {
    pub name: String,
    pub name_span: Span,
    pub dialect: Dialect,
    pub connector: &'static dyn ConnectorFactory,
    /// The connector as the table names it (`kafka10`).
    pub connector_name: String,
    pub columns: Vec<TableColumn>,
    pub primary_key: Vec<String>,
    /// Declared `PERIOD FOR SYSTEM_TIME`.
    pub is_side: bool,
    pub watermark: Option<WatermarkSpec>,
    /// The connector's options and the common ones ([`common`]).
    pub options: ResolvedOptions,
    /// None for connectors without records. `wasm` means a plugin formatter or decoder.
    pub format: Option<TableFormat>,
    /// The format of record keys, and which columns they hold.
    pub key: Option<(KeyLayout, TableFormat)>,
    pub span: Span,
    /// The WITH clause, for messages about missing options.
    pub with_span: Span,
}

impl TableDescriptor {
    /// The columns that the connector can fill, in declared order. Those of metadata have the connector's type.
    pub fn readable_columns(&self) -> Vec<Column> {
        self.columns.iter().filter_map(|c| self.stored(c)).collect()
    }

    /// The columns that the connector can store: all readable ones but VIRTUAL metadata.
    pub fn writable_columns(&self) -> Vec<Column> {
        let is_virtual = |c: &TableColumn| matches!(c.kind, TableColumnKind::Metadata { is_virtual: true, .. });
        self.columns.iter().filter(|c| !is_virtual(c)).filter_map(|c| self.stored(c)).collect()
    }

    fn stored(&self, column: &TableColumn) -> Option<Column> {
        match &column.kind {
            TableColumnKind::Physical { logical_type, nullable, path } => Some(Column {
                name: column.name.clone(),
                logical_type: logical_type.clone(),
                nullable: *nullable,
                path: path.clone(),
                metadata: None,
            }),
            TableColumnKind::Metadata { held_type, key, .. } => {
                let plain = Column::new(&column.name, held_type.clone(), true);
                Some(Column { metadata: Some(key.clone()), ..plain })
            }
            TableColumnKind::Computed(_) => None,
        }
    }
}

#[derive(Debug, Clone)]
pub struct TableFormat {
    pub identifier: String,
    /// Where it is named; None for a default.
    pub span: Option<Span>,
    pub options: ResolvedOptions,
}

#[derive(Debug, Clone)]
pub struct TableColumn {
    pub name: String,
    pub span: Span,
    pub kind: TableColumnKind,
}

#[derive(Debug, Clone)]
pub enum TableColumnKind {
    Physical {
        logical_type: LogicalType,
        nullable: bool,
        path: Vec<PathStep>,
    },
    /// Planned against the physical columns.
    Computed(Box<sqlparser::ast::Expr>),
    Metadata {
        logical_type: LogicalType,
        /// The connector's type of it; values are cast.
        held_type: LogicalType,
        key: String,
        is_virtual: bool,
    },
}

/// Everything that the script declares, by name (case-sensitive, as Flink).
#[derive(Clone, Default)]
pub struct Catalog {
    pub tables: IndexMap<String, TableDescriptor>,
    pub views: IndexMap<String, CreateView>,
    pub functions: IndexMap<String, CreateFunction>,
    /// Tables whose declarations are too wrong to be here: "unknown table" about one of them would be noise.
    pub broken: Vec<String>,
}
