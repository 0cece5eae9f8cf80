//! The codes of messages about job text. Stable: users search for them, tests pin them.
//! E01 syntax, E02 not supported yet, E03 options, E04 tables and columns, E05 functions, E06 types and expressions;
//! W the same for warnings.

/// Something else was expected at this place.
pub const SYNTAX: &str = "E0101";
/// A string, quoted identifier or comment has no end.
pub const UNCLOSED: &str = "E0102";
/// Nested too deeply, or too long.
pub const TOO_COMPLEX: &str = "E0103";
/// `#` or `//` comment outside flinkStreamSQL.
pub const FOREIGN_COMMENT: &str = "E0104";
/// A comma before a closing bracket.
pub const TRAILING_COMMA: &str = "E0105";
/// Two entries of a list without a comma between.
pub const MISSING_COMMA: &str = "E0106";
/// The first word begins no statement.
pub const UNKNOWN_STATEMENT: &str = "E0107";
/// A literal that cannot be read (escape, number).
pub const BAD_LITERAL: &str = "E0108";
/// Double quotes around a name or text.
pub const DOUBLE_QUOTES: &str = "E0109";

/// A kind of statement.
pub const UNSUPPORTED_STATEMENT: &str = "E0201";
/// A clause of a CREATE or INSERT statement.
pub const UNSUPPORTED_CLAUSE: &str = "E0202";
/// A clause of a query.
pub const UNSUPPORTED_QUERY: &str = "E0203";
/// A kind of expression or operator.
pub const UNSUPPORTED_EXPRESSION: &str = "E0204";
/// `/*+ .. */`
pub const UNSUPPORTED_HINT: &str = "E0205";
/// A kind of join.
pub const UNSUPPORTED_JOIN: &str = "E0206";
/// An aggregate or window function.
pub const UNSUPPORTED_AGGREGATE: &str = "E0207";
/// A plan that has no operator here.
pub const NOT_SUPPORTED: &str = "E0208";
/// A catalog or database that does not exist here.
pub const UNKNOWN_CATALOG: &str = "E0209";
/// A connector that we know by name and do not have.
pub const ABSENT_CONNECTOR: &str = "E0210";

/// No option of this name.
pub const UNKNOWN_OPTION: &str = "E0301";
/// A required option is not given, or empty.
pub const MISSING_OPTION: &str = "E0302";
/// An option given twice.
pub const DUPLICATE_OPTION: &str = "E0303";
/// A value of the wrong form.
pub const BAD_OPTION_VALUE: &str = "E0304";
/// Options that exclude or require each other.
pub const OPTION_CONFLICT: &str = "E0305";
/// `type`, `connector.type` and `connector` mixed.
pub const MIXED_DIALECTS: &str = "E0306";
/// None of `type`, `connector.type`, `connector`.
pub const NO_CONNECTOR: &str = "E0307";
/// A connector that does not exist here.
pub const UNKNOWN_CONNECTOR: &str = "E0308";
/// A format that does not exist here.
pub const UNKNOWN_FORMAT: &str = "E0309";
/// A known format without a runtime yet.
pub const UNSUPPORTED_FORMAT: &str = "E0310";
/// The connector refuses the table as it is.
pub const CONNECTOR: &str = "E0311";
/// A value of a job setting (SET, --set).
pub const SETTING_VALUE: &str = "E0312";
/// A job setting that does not exist.
pub const SETTING_UNKNOWN: &str = "E0313";
/// A --stand-in that fits no table.
pub const STAND_IN: &str = "E0314";
/// A file is read and written, or written twice.
pub const SAME_FILE: &str = "E0315";

/// Two tables or views of one name.
pub const DUPLICATE_TABLE: &str = "E0401";
/// Two columns of one name.
pub const DUPLICATE_COLUMN: &str = "E0402";
/// A column that the table does not have.
pub const UNKNOWN_COLUMN: &str = "E0403";
/// A PRIMARY KEY that names a column twice, or a second PRIMARY KEY.
pub const BAD_PRIMARY_KEY: &str = "E0404";
/// INSERT INTO something that is no table of the script.
pub const UNKNOWN_TABLE: &str = "E0405";
/// A watermark on a column that cannot carry one, or a second one.
pub const BAD_WATERMARK: &str = "E0406";
/// A column declaration that says too little or too much.
pub const BAD_COLUMN: &str = "E0407";
/// The query's columns do not fit the sink's.
pub const INSERT_COLUMNS: &str = "E0408";
/// A name that several tables have.
pub const AMBIGUOUS_COLUMN: &str = "E0409";
/// A stream of updates where they would be wrong.
pub const CHANGELOG: &str = "E0410";

/// A function that neither we nor the script have.
pub const UNKNOWN_FUNCTION: &str = "E0501";
/// Two functions of one name.
pub const DUPLICATE_FUNCTION: &str = "E0502";
/// `USING JAR`, or a language other than WASM.
pub const FUNCTION_SOURCE: &str = "E0503";
/// The plugin of a function cannot be used.
pub const FUNCTION_LOAD: &str = "E0504";

/// A type name that no dialect has.
pub const UNKNOWN_TYPE: &str = "E0601";
/// Length, precision or scale out of range.
pub const BAD_TYPE_PARAMETER: &str = "E0602";
/// A known type that we do not have yet.
pub const UNSUPPORTED_TYPE: &str = "E0603";
/// A column's type does not fit the sink's.
pub const SINK_TYPE: &str = "E0604";
/// What the planner says about an expression.
pub const PLANNER: &str = "E0605";

/// Full-width punctuation read as ASCII.
pub const W_FULL_WIDTH: &str = "W0101";
/// `#` or `//` read as a comment.
pub const W_COMMENT: &str = "W0102";
/// A comma before a closing bracket, ignored.
pub const W_TRAILING_COMMA: &str = "W0103";
/// `ADD JAR` / `ADD FILE`, ignored.
pub const W_ADD_JAR: &str = "W0104";
/// A question (SHOW, DESCRIBE, EXPLAIN) in a job that is run.
pub const W_QUESTION: &str = "W0105";
/// An option without a meaning to us, ignored.
pub const W_UNKNOWN_OPTION: &str = "W0301";
/// A known option that changes nothing here.
pub const W_IGNORED_OPTION: &str = "W0302";
/// A value that was read leniently.
pub const W_OPTION_VALUE: &str = "W0303";
/// A job setting that changes nothing here.
pub const SETTING_NO_EFFECT: &str = "W0304";
/// A table of a connector that we do not have, and that nothing uses.
pub const W_ABSENT_CONNECTOR: &str = "W0305";
/// PRIMARY KEY without NOT ENFORCED.
pub const W_NOT_ENFORCED: &str = "W0401";
/// A side table without PRIMARY KEY.
pub const W_SIDE_KEY: &str = "W0402";
/// A column was added for a PRIMARY KEY entry.
pub const W_KEY_COLUMN_ADDED: &str = "W0403";
/// The second name in withOffset differs from the watermark column.
pub const W_WITH_OFFSET: &str = "W0404";
/// flinkStreamSQL's INSERT maps by position for want of names.
pub const INSERT_BY_POSITION: &str = "W0405";
/// A side table is joined by a part of its PRIMARY KEY.
pub const W_PART_OF_KEY: &str = "W0406";
/// NOT NULL inside a nested type is not checked.
pub const W_NESTED_NOT_NULL: &str = "W0601";
