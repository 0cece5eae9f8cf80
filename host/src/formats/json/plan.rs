//! Where the columns of a table lie inside a record: a trie over their paths, so that one pass over the record finds
//! all of them.

use super::encode::write_string;
use super::scan::MemberName;
use crate::data::{LogicalType, PathStep, TableSchema};
use std::collections::HashMap;

/// Member names and what they lead to. Records repeat the order of their members, so the name after the one found last
/// is tried first.
#[derive(Debug, Default)]
pub(super) struct Members {
    entries: Vec<Member>,
    /// Only for many names, where trying each in turn would cost more than hashing.
    by_name: HashMap<Box<[u8]>, usize>,
}

#[derive(Debug)]
struct Member {
    name: Box<[u8]>,
    /// `"name":` as most records write it.
    written: Box<[u8]>,
    target: usize,
}

const LINEAR_MAX: usize = 12;

impl Members {
    pub fn new<'a>(names: impl Iterator<Item = (&'a str, usize)>) -> Self {
        let entries: Vec<Member> = names
            .map(|(name, target)| {
                let mut written = Vec::new();
                write_string(&mut written, name);
                written.push(b':');
                Member { name: name.as_bytes().into(), written: written.into(), target }
            })
            .collect();
        let by_name = match entries.len() {
            0..=LINEAR_MAX => HashMap::new(),
            _ => entries.iter().enumerate().map(|(i, m)| (m.name.clone(), i)).collect(),
        };
        Self { entries, by_name }
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The text of the member at this place of the list, for [`Scanner::next_member`]; empty behind its end.
    ///
    /// [`Scanner::next_member`]: super::scan::Scanner::next_member
    #[inline]
    pub fn written(&self, hint: usize) -> &[u8] {
        self.entries.get(hint).map_or(&[], |m| &m.written)
    }

    /// What a name leads to. `hint` is the place of the expected name; it is moved behind a name that is found.
    #[inline]
    pub fn find(&self, name: &MemberName<'_>, hint: &mut usize) -> Option<usize> {
        let at = match name {
            MemberName::Expected => *hint,
            MemberName::Other(name) if self.by_name.is_empty() => {
                self.entries.iter().position(|m| *m.name == **name)?
            }
            MemberName::Other(name) => *self.by_name.get(name.as_ref())?,
        };
        *hint = at + 1;
        self.entries.get(at).map(|m| m.target)
    }
}

/// What is wanted at one place of a record.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// Columns that take the whole value.
    pub columns: Vec<usize>,
    /// Member name -> node.
    pub members: Members,
    /// (array index, node)
    pub elements: Vec<(usize, usize)>,
    /// Columns of all nodes below this one.
    pub below: Vec<usize>,
    /// The one column, where nothing else is wanted.
    pub only: Option<usize>,
}

/// The trie; node 0 is the whole record.
#[derive(Debug)]
pub(super) struct PathPlan {
    pub nodes: Vec<Node>,
    /// A top-level array is one row per element (no path starts with an index).
    pub explode: bool,
}

impl PathPlan {
    pub fn new(schema: &TableSchema) -> Self {
        let mut tree = vec![Growing::default()];
        for (column, c) in schema.columns.iter().enumerate() {
            let mut node = 0;
            for step in &c.path {
                tree[node].below.push(column);
                node = child(&mut tree, node, step);
            }
            tree[node].columns.push(column);
        }
        let explode = tree[0].elements.is_empty();
        Self { nodes: tree.into_iter().map(Growing::finish).collect(), explode }
    }
}

#[derive(Default)]
struct Growing {
    columns: Vec<usize>,
    members: Vec<(String, usize)>,
    elements: Vec<(usize, usize)>,
    below: Vec<usize>,
}

fn child(tree: &mut Vec<Growing>, node: usize, step: &PathStep) -> usize {
    let known = match step {
        PathStep::Member(name) => tree[node].members.iter().find(|(n, _)| n == name).map(|(_, to)| *to),
        PathStep::Index(index) => tree[node].elements.iter().find(|(i, _)| i == index).map(|(_, to)| *to),
    };
    if let Some(known) = known {
        return known;
    }
    let new = tree.len();
    tree.push(Growing::default());
    match step {
        PathStep::Member(name) => tree[node].members.push((name.clone(), new)),
        PathStep::Index(index) => tree[node].elements.push((*index, new)),
    }
    new
}

impl Growing {
    fn finish(self) -> Node {
        let leaf = self.members.is_empty() && self.elements.is_empty();
        Node {
            only: (leaf && self.columns.len() == 1).then(|| self.columns[0]),
            columns: self.columns,
            members: Members::new(self.members.iter().map(|(n, to)| (n.as_str(), *to))),
            elements: self.elements,
            below: self.below,
        }
    }
}

/// The member names inside a column's type.
#[derive(Debug)]
pub(super) enum Shape {
    Scalar,
    List(Box<Shape>),
    /// Of the values; keys are text.
    Map(Box<Shape>),
    Row {
        members: Members,
        fields: Vec<Shape>,
    },
}

impl Shape {
    /// An error names the type that JSON cannot hold.
    pub fn new(t: &LogicalType) -> Result<Shape, String> {
        Ok(match t {
            LogicalType::Array(item) => Shape::List(Box::new(Shape::new(item)?)),
            LogicalType::Map(key, _) if !key.is_text() => {
                return Err(format!("JSON objects have text keys: {t} needs a MAP<STRING, ..>"));
            }
            LogicalType::Map(_, value) => Shape::Map(Box::new(Shape::new(value)?)),
            LogicalType::Row(fields) => Shape::Row {
                members: Members::new(fields.iter().enumerate().map(|(i, (n, _))| (n.as_str(), i))),
                fields: fields.iter().map(|(_, t)| Shape::new(t)).collect::<Result<_, _>>()?,
            },
            _ => Shape::Scalar,
        })
    }
}
