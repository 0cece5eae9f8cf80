//! CREATE TABLE .. LIKE: what it says, and the table that comes of it. The rules are Flink's (MergeTableLikeUtil).

use super::ast::{ColumnKind, CreateTable, LikeClause, LikeFeature, LikeOption, Merging, WithOption, WithOptions};
use super::codes;
use super::create_table::watermark_span;
use super::cursor::{JobParser, Parsed};
use crate::diagnostic::{Diagnostic, Span};
use sqlparser::tokenizer::Token;

const FEATURES: [(&str, LikeFeature); 7] = [
    ("CONSTRAINTS", LikeFeature::Constraints),
    ("DISTRIBUTION", LikeFeature::Distribution),
    ("GENERATED", LikeFeature::Generated),
    ("METADATA", LikeFeature::Metadata),
    ("OPTIONS", LikeFeature::Options),
    ("PARTITIONS", LikeFeature::Partitions),
    ("WATERMARKS", LikeFeature::Watermarks),
];

impl JobParser<'_> {
    /// After `LIKE`: `base [(INCLUDING feature ..)]`
    pub fn like_clause(&mut self, start: Span) -> Parsed<LikeClause> {
        let base = self.object_path("the table to be like")?;
        let mut span = start.to(base.span());
        let mut options = Vec::new();
        if self.eat(&Token::LParen).is_some() {
            loop {
                if let Some(end) = self.eat(&Token::RParen) {
                    span = span.to(end);
                    break;
                }
                options.push(self.like_option()?);
            }
        }
        Ok(LikeClause { base, options, span })
    }

    fn like_option(&mut self) -> Parsed<LikeOption> {
        let words = [
            ("INCLUDING", Merging::Including),
            ("EXCLUDING", Merging::Excluding),
            ("OVERWRITING", Merging::Overwriting),
        ];
        let found = words.into_iter().find_map(|(w, m)| Some((self.eat_words(&[w])?, w, m)));
        let Some((start, word, merging)) = found else {
            return Err(self.unexpected("INCLUDING, EXCLUDING or OVERWRITING"));
        };
        let feature = if self.is_word(0, "ALL") {
            None
        } else {
            let known = FEATURES.iter().find(|(w, _)| self.is_word(0, w));
            let Some((_, feature)) = known else {
                return Err(self.unexpected("ALL, CONSTRAINTS, GENERATED, METADATA, OPTIONS or WATERMARKS"));
            };
            Some(*feature)
        };
        let span = start.to(self.advance());
        use LikeFeature as F;
        let can_overwrite = matches!(feature, Some(F::Generated | F::Metadata | F::Options | F::Watermarks));
        if merging == Merging::Overwriting && !can_overwrite {
            let message = format!("{word} works for GENERATED, METADATA, OPTIONS and WATERMARKS only");
            return Err(Diagnostic::error(codes::SYNTAX, span, message));
        }
        Ok(LikeOption { merging, feature, span })
    }
}

/// How the clause merges a feature: what it says of it, else of ALL, else Flink's default.
fn merging(like: &LikeClause, feature: LikeFeature) -> Merging {
    let said = |f: Option<LikeFeature>| like.options.iter().rev().find(|o| o.feature == f).map(|o| o.merging);
    let default = if feature == LikeFeature::Options { Merging::Overwriting } else { Merging::Including };
    said(Some(feature)).or_else(|| said(None)).unwrap_or(default)
}

/// Puts into `table` what its LIKE clause takes of `base`.
pub(super) fn expand(table: &mut CreateTable, like: &LikeClause, base: &CreateTable, out: &mut Vec<Diagnostic>) {
    columns(table, like, base, out);
    constraint(table, like, base, out);
    watermark(table, like, base, out);
    options(table, like, base, out);
    table.period_for_system_time = table.period_for_system_time.or(base.period_for_system_time);
}

fn columns(table: &mut CreateTable, like: &LikeClause, base: &CreateTable, out: &mut Vec<Diagnostic>) {
    let how = |kind: &ColumnKind| match kind {
        ColumnKind::Physical { .. } => Merging::Including,
        ColumnKind::Computed(_) => merging(like, LikeFeature::Generated),
        ColumnKind::Metadata { .. } => merging(like, LikeFeature::Metadata),
    };
    let mut columns: Vec<_> = base.columns.iter().filter(|c| how(&c.kind) != Merging::Excluding).cloned().collect();
    for new in std::mem::take(&mut table.columns) {
        let Some(old) = columns.iter_mut().find(|c| c.name.value == new.name.value) else {
            columns.push(new);
            continue;
        };
        let same_kind = std::mem::discriminant(&old.kind) == std::mem::discriminant(&new.kind);
        if same_kind && how(&old.kind) == Merging::Overwriting {
            *old = new;
            continue;
        }
        let message = format!("column {} is declared in {}, too", new.name.value, base.name.value);
        let d = Diagnostic::error(codes::DUPLICATE_COLUMN, new.name.span, message);
        out.push(match old.kind {
            ColumnKind::Physical { .. } => d.hint("LIKE takes all columns with a type of the other table"),
            ColumnKind::Computed(_) => d.hint("LIKE .. (OVERWRITING GENERATED) replaces it"),
            ColumnKind::Metadata { .. } => d.hint("LIKE .. (OVERWRITING METADATA) replaces it"),
        });
    }
    table.columns = columns;
}

fn constraint(table: &mut CreateTable, like: &LikeClause, base: &CreateTable, out: &mut Vec<Diagnostic>) {
    if merging(like, LikeFeature::Constraints) == Merging::Excluding {
        return;
    }
    match (&table.primary_key, &base.primary_key) {
        (Some(own), Some(_)) => {
            let message = format!("{} has a PRIMARY KEY, too", base.name.value);
            let d = Diagnostic::error(codes::BAD_PRIMARY_KEY, own.span, message);
            out.push(d.hint("LIKE .. (EXCLUDING CONSTRAINTS) leaves it out"));
        }
        (None, key) => table.primary_key = key.clone(),
        (Some(_), None) => {}
    }
}

fn watermark(table: &mut CreateTable, like: &LikeClause, base: &CreateTable, out: &mut Vec<Diagnostic>) {
    match (merging(like, LikeFeature::Watermarks), &table.watermark, &base.watermark) {
        (Merging::Including, Some(own), Some(_)) => {
            let message = format!("{} has a watermark, too", base.name.value);
            let d = Diagnostic::error(codes::BAD_WATERMARK, watermark_span(own), message);
            out.push(d.hint("LIKE .. (OVERWRITING WATERMARKS) replaces it"));
        }
        (Merging::Including | Merging::Overwriting, None, inherited) => table.watermark = inherited.clone(),
        _ => {}
    }
}

fn options(table: &mut CreateTable, like: &LikeClause, base: &CreateTable, out: &mut Vec<Diagnostic>) {
    let how = merging(like, LikeFeature::Options);
    if table.options.entries.is_empty() {
        table.options.span = like.span;
    }
    if how == Merging::Excluding {
        return;
    }
    let mut merged = base.options.entries.clone();
    for new in std::mem::take(&mut table.options.entries) {
        let Some(old) = find(&mut merged, &new.key) else {
            merged.push(new);
            continue;
        };
        if how == Merging::Including {
            let message = format!("option {} is given in {}, too", new.key, base.name.value);
            let d = Diagnostic::error(codes::DUPLICATE_OPTION, new.key_span, message);
            out.push(d.hint("LIKE .. (OVERWRITING OPTIONS) replaces it"));
        }
        *old = new;
    }
    table.options.entries = merged;
}

/// The entry of this key; flinkStreamSQL's keys (those beside `type`) have no case.
pub(super) fn find<'a>(entries: &'a mut [WithOption], key: &str) -> Option<&'a mut WithOption> {
    let ignore_case = entries.iter().any(|e| e.key.eq_ignore_ascii_case("type"));
    entries.iter_mut().find(|e| e.key == key || (ignore_case && e.key.eq_ignore_ascii_case(key)))
}

/// ALTER TABLE .. SET: what is given replaces what was.
pub(super) fn set_options(options: &mut WithOptions, given: &WithOptions) {
    for entry in &given.entries {
        match find(&mut options.entries, &entry.key) {
            Some(old) => *old = entry.clone(),
            None => options.entries.push(entry.clone()),
        }
    }
}
