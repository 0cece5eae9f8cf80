//! Catalogs and databases that names may lie in. There is `default_catalog` with `default_database`, whose tables are
//! those of the job file; a catalog of tables that a server keeps would be known here by its CREATE CATALOG.

use super::ast::{CreateCatalog, CreateDatabase, Name, Use};
use super::codes;
use crate::diagnostic::{Diagnostic, Span};

pub const CATALOG: &str = "default_catalog";
pub const DATABASE: &str = "default_database";

const WHAT_EXISTS: &str = "there is default_catalog with default_database: name the table alone";

#[derive(Default)]
pub(super) struct Databases {
    /// Refused already: a second message about one of them would be noise.
    refused: Vec<String>,
    /// A refused one is in use: what is declared there is not known.
    elsewhere: bool,
}

impl Databases {
    pub fn create_catalog(&mut self, c: &CreateCatalog, out: &mut Vec<Diagnostic>) {
        if c.name.value == CATALOG && c.if_not_exists {
            return;
        }
        let kind = c.options.entries.iter().find(|e| e.key == "type").map_or("", |e| e.value.as_str());
        let what = if kind.is_empty() { String::new() } else { format!(" of type {kind}") };
        let hint = match kind {
            "kudu" => "declare its tables: CREATE TABLE .. WITH ('connector.type' = 'kudu', 'kudu.masters' = '..')",
            _ => "declare its tables in this file, and leave the catalog out",
        };
        self.refuse(&c.name, c.span, format!("not supported yet: a catalog{what}"), hint, out);
    }

    pub fn create_database(&mut self, d: &CreateDatabase, out: &mut Vec<Diagnostic>) {
        if self.elsewhere || !self.check_catalog(d.path.qualifier.last(), out) {
            return;
        }
        if !(d.path.name.value == DATABASE && d.if_not_exists) {
            let message = format!("not supported yet: the database {}", d.path.name.value);
            self.refuse(&d.path.name, d.span, message, WHAT_EXISTS, out);
        }
    }

    pub fn use_one(&mut self, used: &Use, out: &mut Vec<Diagnostic>) {
        let (fine, name) = match used {
            Use::Catalog(name) => (self.check_catalog(Some(name), out), name),
            Use::Database(path) => {
                let fine = self.check_catalog(path.qualifier.last(), out) && self.check_database(&path.name, out);
                (fine, &path.name)
            }
        };
        if !fine && !self.refused.contains(&name.value) {
            self.refused.push(name.value.clone());
        }
        self.elsewhere = !fine;
    }

    /// Whether an object with this in front of its name is one of the job's. If not, somebody has said so.
    pub fn check(&mut self, qualifier: &[Name], out: &mut Vec<Diagnostic>) -> bool {
        match qualifier {
            [] => !self.elsewhere,
            [database] => !self.elsewhere && self.check_database(database, out),
            [catalog, database, ..] => self.check_catalog(Some(catalog), out) && self.check_database(database, out),
        }
    }

    fn check_catalog(&mut self, name: Option<&Name>, out: &mut Vec<Diagnostic>) -> bool {
        name.is_none_or(|n| self.check_name(n, CATALOG, "catalog", out))
    }

    fn check_database(&mut self, name: &Name, out: &mut Vec<Diagnostic>) -> bool {
        self.check_name(name, DATABASE, "database", out)
    }

    fn check_name(&mut self, name: &Name, wanted: &str, what: &str, out: &mut Vec<Diagnostic>) -> bool {
        if name.value == wanted {
            return true;
        }
        if !self.refused.contains(&name.value) {
            let message = format!("unknown {what} {}", name.value);
            out.push(Diagnostic::error(codes::UNKNOWN_CATALOG, name.span, message).hint(WHAT_EXISTS));
        }
        false
    }

    fn refuse(&mut self, name: &Name, span: Span, message: String, hint: &str, out: &mut Vec<Diagnostic>) {
        out.push(Diagnostic::error(codes::UNKNOWN_CATALOG, span, message).hint(hint));
        self.refused.push(name.value.clone());
    }
}
