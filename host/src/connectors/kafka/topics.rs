//! Which topics a table reads.

use super::connection::{ANSWER_TIME, Connection};
use super::native::{Consumer, KafkaError, TopicMetadata, TopicPartition, code};
use crate::error::{Error, Result};
use crate::sql::options::{Dialect, ResolvedOptions};
use regex::Regex;

#[derive(Debug, Clone)]
pub enum Topics {
    Named(Vec<String>),
    /// Matches whole names; internal topics never.
    Pattern(Regex),
}

impl Topics {
    /// The error is about the option `topic` or `topic-pattern`.
    pub fn of(dialect: Dialect, options: &ResolvedOptions) -> std::result::Result<Self, String> {
        let named = options.list("topic").unwrap_or_default();
        let pattern = match dialect {
            Dialect::DtStack if options.bool("topic-is-pattern") == Some(true) => {
                // The list was split at commas, which a pattern may hold.
                options.get("topic").map(|e| e.text.trim().to_string())
            }
            _ => options.text("topic-pattern").map(|t| t.trim().to_string()).filter(|t| !t.is_empty()),
        };
        match pattern {
            Some(text) => pattern_of(&text).map(Topics::Pattern),
            None => {
                let mut topics: Vec<String> = Vec::new();
                for topic in named {
                    if !topics.contains(topic) {
                        topics.push(topic.clone());
                    }
                }
                Ok(Topics::Named(topics))
            }
        }
    }

    /// For messages.
    pub fn describe(&self) -> String {
        match self {
            Topics::Named(names) => names.join(", "),
            Topics::Pattern(p) => format!("pattern {}", p.as_str()),
        }
    }

    /// The topics that are there now, with their partitions. A named one that is missing is an error.
    pub fn find(&self, connection: &Connection, consumer: &Consumer) -> Result<Vec<TopicMetadata>> {
        match self {
            Topics::Named(names) => names.iter().map(|n| find_one(connection, consumer, n)).collect(),
            Topics::Pattern(pattern) => {
                let failed = |e: KafkaError| connection.error("the topics cannot be listed", &e);
                let all = consumer.metadata(None, ANSWER_TIME).map_err(failed)?;
                let wanted = |t: &TopicMetadata| !t.name.starts_with("__") && pattern.is_match(&t.name);
                let mut found: Vec<TopicMetadata> = all.topics.into_iter().filter(wanted).collect();
                found.sort_by(|a, b| a.name.cmp(&b.name));
                Ok(found)
            }
        }
    }
}

fn find_one(connection: &Connection, consumer: &Consumer, name: &str) -> Result<TopicMetadata> {
    let what = format!("topic {name}");
    let failed = |e: KafkaError| connection.error(&what, &e);
    let metadata = consumer.metadata(Some(name), ANSWER_TIME).map_err(failed)?;
    match metadata.topics.into_iter().find(|t| t.name == name) {
        Some(t) if t.error == code::OK && !t.partitions.is_empty() => Ok(t),
        Some(t) if t.error != code::OK => Err(failed(KafkaError::of(t.error))),
        _ => Err(failed(KafkaError::of(code::UNKNOWN_TOPIC_OR_PARTITION))),
    }
}

pub fn partitions(topics: &[TopicMetadata]) -> Vec<TopicPartition> {
    let mut all: Vec<TopicPartition> = topics
        .iter()
        .flat_map(|t| t.partitions.iter().map(|p| TopicPartition { topic: t.name.as_str().into(), partition: *p }))
        .collect();
    all.sort();
    all
}

/// Java's `\\d`, as it stands in SQL text that was meant for a Java string, means `\d`.
fn pattern_of(text: &str) -> std::result::Result<Regex, String> {
    let text = text.replace("\\\\", "\\");
    Regex::new(&format!("^(?:{text})$")).map_err(|e| {
        let reason = e.to_string();
        let last = reason.lines().last().unwrap_or_default().trim_start_matches("error: ").to_string();
        format!("{text} is no regular expression: {last}")
    })
}

/// `topic-partition`, as splits are called.
pub fn split_name(split: &str) -> Option<(&str, i32)> {
    let (topic, partition) = split.rsplit_once('-')?;
    Some((topic, partition.parse().ok()?))
}

pub fn parse_error(table: &str, message: String) -> Error {
    Error::user(format!("table {table}: {message}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b37_patterns_match_whole_names() {
        for text in [r"(topic-a|topic-b|topic-\\d*)", r"(topic-a|topic-b|topic-\d*)"] {
            let pattern = pattern_of(text).unwrap();
            let matching: Vec<&str> =
                ["topic-a", "topic-12", "xtopic-a", "topic-ab"].into_iter().filter(|t| pattern.is_match(t)).collect();
            assert_eq!(matching, ["topic-a", "topic-12"], "{text}");
        }
        assert!(pattern_of("topic-(").unwrap_err().contains("no regular expression"));
    }

    #[test]
    fn names_of_splits_are_taken_apart_at_the_last_dash() {
        assert_eq!(split_name("a-b-12"), Some(("a-b", 12)));
        assert_eq!(split_name("a"), None);
    }
}
