//! Which files a table's path names.

use super::path;
use crate::connectors::api::TableContext;
use crate::connectors::local::io_error;
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// More files than this in one table are refused: most likely the path is not what was meant.
const FILES_MAX: usize = 100_000;

/// A file, a folder (all files in it and below) or a glob, with an optional filter on the whole path.
pub struct PathPattern {
    table: Arc<str>,
    path: PathBuf,
    /// Flink's `source.path.regex-pattern`: the whole path must match.
    filter: Option<regex::Regex>,
}

/// A file to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub path: PathBuf,
    pub size: u64,
}

impl PathPattern {
    pub fn new(cx: &TableContext) -> Result<Self> {
        let filter = match cx.options.text("regex-pattern") {
            None => None,
            Some(pattern) => Some(regex::Regex::new(&format!("^(?:{pattern})$")).map_err(|e| {
                Error::user(format!("table {}: regex-pattern {pattern} is no regular expression: {e}", cx.table))
            })?),
        };
        Ok(Self { table: cx.table.clone(), path: path(cx)?, filter })
    }

    /// The files, ordered by path. An external error if there are none.
    pub fn list(&self) -> Result<Vec<Found>> {
        let found = self.find()?;
        if found.is_empty() {
            let message = format!("table {}: there is no file to read at {}", self.table, self.path.display());
            return Err(
                Error::external(message).with_hint("files whose name begins with . or _ are not read from folders")
            );
        }
        Ok(found)
    }

    /// As `list`, for who waits for files: a path that is not there yet is no error.
    pub fn list_or_none(&self) -> Result<Vec<Found>> {
        match std::fs::metadata(&self.path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound && !is_glob(&self.path) => Ok(vec![]),
            _ => self.find(),
        }
    }

    fn find(&self) -> Result<Vec<Found>> {
        let mut found = Vec::new();
        match std::fs::metadata(&self.path) {
            Ok(_) => self.add(&self.path, true, &mut found)?,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound && is_glob(&self.path) => self.expand(&mut found)?,
            Err(e) => return Err(io_error(&self.table, "read", &self.path, &e)),
        }
        if let Some(filter) = &self.filter {
            found.retain(|f| filter.is_match(&f.path.to_string_lossy()));
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        found.dedup();
        Ok(found)
    }

    fn expand(&self, found: &mut Vec<Found>) -> Result<()> {
        let pattern = self.path.to_string_lossy();
        let matches = glob::glob(&pattern)
            .map_err(|e| Error::user(format!("table {}: path {pattern} is no glob: {e}", self.table)))?;
        for entry in matches {
            let path = entry.map_err(|e| io_error(&self.table, "read", e.path(), e.error()))?;
            self.add(&path, true, found)?;
        }
        Ok(())
    }

    /// Adds a file, or what is in a folder: without hidden files, as Flink does.
    fn add(&self, path: &Path, named: bool, found: &mut Vec<Found>) -> Result<()> {
        let fail = |e: std::io::Error| io_error(&self.table, "read", path, &e);
        let hidden = path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(['.', '_']));
        if hidden && !named {
            return Ok(());
        }
        let about = std::fs::metadata(path).map_err(fail)?;
        if !about.is_dir() {
            if found.len() >= FILES_MAX {
                return Err(Error::user(format!("table {}: more than {FILES_MAX} files to read", self.table)));
            }
            found.push(Found { path: path.to_path_buf(), size: about.len() });
            return Ok(());
        }
        for entry in std::fs::read_dir(path).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            // A link to a folder could lead back to where we are.
            let is_link_to_folder = entry.file_type().map_err(fail)?.is_symlink() && entry.path().is_dir();
            if !is_link_to_folder {
                self.add(&entry.path(), false, found)?;
            }
        }
        Ok(())
    }
}

fn is_glob(path: &Path) -> bool {
    path.to_string_lossy().contains(['*', '?', '['])
}
