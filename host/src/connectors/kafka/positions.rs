//! Start and end of every partition, as numbers: what the start mode means is settled once, so that a job that goes on
//! from its first checkpoint reads what came after it started.

use super::connection::{ANSWER_TIME, Connection};
use super::native::{Consumer, KafkaError, Offset, TopicPartition, code};
use super::start::{End, Offsets, Reset, Start};
use crate::error::{Error, Result};
use std::collections::HashMap;
use std::time::{Duration, Instant};

pub struct Positions<'a> {
    pub connection: &'a Connection,
    pub consumer: &'a Consumer,
    /// Where to begin in a partition that the group has committed no offset of.
    pub reset: Reset,
}

/// How long a partition that is new may take until its offsets can be asked for.
const SETTLING_TIME: Duration = Duration::from_secs(5);

fn is_young(error: i32) -> bool {
    matches!(
        error,
        code::UNKNOWN_PARTITION | code::UNKNOWN_TOPIC | code::UNKNOWN_TOPIC_OR_PARTITION | code::LEADER_NOT_AVAILABLE
    )
}

type Found = HashMap<TopicPartition, i64>;

impl Positions<'_> {
    pub fn starts(&self, start: &Start, partitions: &[TopicPartition]) -> Result<Found> {
        match start {
            Start::Earliest => self.ask(partitions, Offset::Earliest),
            Start::Latest => self.ask(partitions, Offset::Latest),
            Start::At(ms) => self.at(partitions, *ms),
            Start::Group => self.committed_or_reset(partitions, self.reset),
            Start::Offsets(offsets) => self.given(offsets, partitions, |rest| match &self.connection.group {
                Some(_) => self.committed_or_reset(rest, self.reset),
                None => self.reset_of(rest, self.reset),
            }),
        }
    }

    /// None: reading never ends.
    pub fn ends(&self, end: &End, partitions: &[TopicPartition]) -> Result<Option<Found>> {
        Ok(Some(match end {
            End::Never => return Ok(None),
            End::Latest => self.ask(partitions, Offset::Latest)?,
            End::At(ms) => self.at(partitions, *ms)?,
            End::Group => self.committed_or_reset(partitions, Reset::Fail)?,
            End::Offsets(offsets) => self.given(offsets, partitions, |rest| self.ask(rest, Offset::Latest))?,
        }))
    }

    fn given(
        &self,
        offsets: &Offsets,
        partitions: &[TopicPartition],
        others: impl FnOnce(&[TopicPartition]) -> Result<Found>,
    ) -> Result<Found> {
        let mut found = Found::new();
        let mut rest = Vec::new();
        for at in partitions {
            match offsets.get(&at.topic, at.partition) {
                Some(offset) => {
                    found.insert(at.clone(), offset);
                }
                None => rest.push(at.clone()),
            }
        }
        let unknown = offsets.0.iter().find(|(topic, partition, _)| {
            !partitions.iter().any(|at| at.partition == *partition && topic.as_deref().is_none_or(|t| t == &*at.topic))
        });
        if let Some((_, partition, _)) = unknown {
            let table = &self.connection.table;
            return Err(Error::user(format!(
                "table {table}: an offset is given for partition {partition}, which does not exist"
            )));
        }
        found.extend(others(&rest)?);
        Ok(found)
    }

    fn ask(&self, partitions: &[TopicPartition], offset: Offset) -> Result<Found> {
        let questions: Vec<_> = partitions.iter().map(|at| (at.clone(), offset)).collect();
        let end = Instant::now() + SETTLING_TIME;
        let answers = loop {
            match self.consumer.list_offsets(&questions, ANSWER_TIME) {
                Ok(answers) => break answers,
                // The partitions were listed just now: a new one takes a moment to be known everywhere.
                Err(e) if is_young(e.code) && Instant::now() < end => std::thread::sleep(Duration::from_millis(100)),
                Err(e) => return Err(self.connection.error("the offsets of the topic cannot be listed", &e)),
            }
        };
        Ok(answers.into_iter().map(|p| (p.at, p.offset)).collect())
    }

    /// No record so late: the partition's end.
    fn at(&self, partitions: &[TopicPartition], ms: i64) -> Result<Found> {
        let mut found = self.ask(partitions, Offset::At(ms))?;
        let missing: Vec<TopicPartition> =
            partitions.iter().filter(|at| found.get(*at).is_none_or(|o| *o < 0)).cloned().collect();
        found.extend(self.ask(&missing, Offset::Latest)?);
        Ok(found)
    }

    fn committed_or_reset(&self, partitions: &[TopicPartition], reset: Reset) -> Result<Found> {
        let Some(group) = &self.connection.group else {
            let table = &self.connection.table;
            return Err(Error::user(format!(
                "table {table}: starting from group-offsets needs a consumer group (group.id)"
            ))
            .with_hint("name a group, or set the start mode to earliest-offset or latest-offset"));
        };
        let failed = |e: KafkaError| self.connection.error(&format!("the offsets of group {group}"), &e);
        let committed = self.consumer.committed(partitions, ANSWER_TIME).map_err(failed)?;
        let mut found = Found::new();
        let mut missing = Vec::new();
        for p in committed {
            if p.offset >= 0 {
                found.insert(p.at, p.offset);
            } else {
                missing.push(p.at);
            }
        }
        if reset == Reset::Fail
            && let Some(first) = missing.first()
        {
            let message = format!("table {}: group {group} has committed no offset of {first}", self.connection.table);
            return Err(Error::user(message)
                .with_hint("set the property auto.offset.reset to earliest or latest, or another start mode"));
        }
        found.extend(self.reset_of(&missing, reset)?);
        Ok(found)
    }

    fn reset_of(&self, partitions: &[TopicPartition], reset: Reset) -> Result<Found> {
        match reset {
            Reset::Latest => self.ask(partitions, Offset::Latest),
            // Offsets were given for other partitions: here everything is new.
            Reset::Earliest | Reset::Fail => self.ask(partitions, Offset::Earliest),
        }
    }
}
