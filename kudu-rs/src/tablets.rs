//! Where the tablets of a table are, as far as it is known.

use crate::error::{Error, Result};
use crate::partition::{Partition, Point};
use crate::pb::kudu::consensus::raft_peer_pb::Role;
use crate::pb::kudu::master::{GetTableLocationsResponsePb, TsInfoPb};
use crate::retry::random;
use crate::scan::ReplicaSelection;
use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Tablets and gaps remembered of one table at most.
const MAX_ENTRIES: usize = 100_000;

#[derive(Debug, PartialEq)]
pub struct Server {
    pub uuid: String,
    pub addresses: Vec<(String, u16)>,
    pub location: String,
}

#[derive(Debug, Clone)]
pub struct Replica {
    pub server: Arc<Server>,
    pub role: Role,
}

#[derive(Debug)]
pub struct Tablet {
    pub id: String,
    pub partition: Partition,
    pub replicas: Vec<Replica>,
    /// Servers that did not answer, or answered that they do not lead; by uuid.
    out: Mutex<HashSet<String>>,
}

impl Tablet {
    fn out(&self) -> MutexGuard<'_, HashSet<String>> {
        self.out.lock().unwrap_or_else(|e| e.into_inner())
    }
    /// Do not ask this server again, as long as this knowledge is kept.
    pub fn rule_out(&self, server: &Server) {
        self.out().insert(server.uuid.clone());
    }
    /// The server to ask; None when all were in vain, and the master must be asked again. With `guess` another one is
    /// taken for the leader when that is out: it may have been elected meanwhile.
    pub fn pick(&self, selection: ReplicaSelection, guess: bool, location: &str) -> Option<Arc<Server>> {
        let out = self.out();
        let mut left = self.replicas.iter().filter(|r| !out.contains(&r.server.uuid));
        match selection {
            ReplicaSelection::LeaderOnly => {
                let leader = left.clone().find(|r| r.role == Role::Leader);
                leader.or_else(|| left.next().filter(|_| guess)).map(|r| r.server.clone())
            }
            ReplicaSelection::Closest => {
                let left: Vec<_> = left.collect();
                let best = left.iter().map(|r| distance(&r.server, location)).min()?;
                let near: Vec<_> = left.iter().filter(|r| distance(&r.server, location) == best).collect();
                near.get((random() % near.len() as u64) as usize).map(|r| r.server.clone())
            }
        }
    }
}

fn distance(server: &Server, location: &str) -> u8 {
    let local = |host: &str| host == "localhost" || host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
    if server.addresses.iter().any(|(h, _)| local(h)) {
        0
    } else if !location.is_empty() && server.location == location {
        1
    } else {
        2
    }
}

#[derive(Debug, Clone)]
enum Entry {
    Tablet(Arc<Tablet>),
    /// No partition from here to `end`.
    Gap {
        end: Vec<u8>,
    },
}

/// By bucket, then by start of the range.
type Entries = BTreeMap<(Vec<u32>, Vec<u8>), (Entry, Instant)>;

#[derive(Debug, Default)]
struct State {
    entries: Entries,
    /// Until when `entries` holds every tablet of the table.
    complete: Option<Instant>,
    /// Count of the changes of partitions by this client that are seen in `entries`.
    changes: u64,
}

#[derive(Debug, Default)]
pub struct Locations {
    state: Mutex<State>,
    /// One at a time asks the master.
    pub asking: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
pub enum Found {
    Tablet(Arc<Tablet>),
    Gap,
}

impl Locations {
    fn lock(&self, changes: u64) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(|e| e.into_inner());
        if state.changes != changes {
            *state = State { changes, ..Default::default() };
        }
        state
    }

    pub fn find(&self, point: &Point, changes: u64) -> Option<Found> {
        let state = self.lock(changes);
        let at = (point.buckets.clone(), point.range_key.clone());
        let (key, (entry, until)) = state.entries.range(..=at).next_back()?;
        if key.0 != point.buckets || *until < Instant::now() {
            return None;
        }
        match entry {
            Entry::Tablet(t) if t.partition.covers(point) => Some(Found::Tablet(t.clone())),
            Entry::Gap { end } if point.range_key < *end => Some(Found::Gap),
            _ => None,
        }
    }

    /// All tablets, if they are known.
    pub fn all(&self, changes: u64) -> Option<Vec<Arc<Tablet>>> {
        let state = self.lock(changes);
        state.complete.filter(|until| *until > Instant::now())?;
        let tablets = state.entries.values().filter_map(|(e, _)| match e {
            Entry::Tablet(t) => Some(t.clone()),
            Entry::Gap { .. } => None,
        });
        Some(tablets.collect())
    }

    pub fn learn(&self, tablets: &[Arc<Tablet>], ttl: Duration, changes: u64) {
        let mut state = self.lock(changes);
        if state.entries.len() + tablets.len() > MAX_ENTRIES {
            state.entries.clear();
            state.complete = None;
        }
        let until = Instant::now() + ttl;
        for t in tablets {
            let key = (t.partition.buckets.clone(), t.partition.range_start.clone());
            state.entries.insert(key, (Entry::Tablet(t.clone()), until));
        }
    }

    pub fn learn_all(&self, tablets: &[Arc<Tablet>], ttl: Duration, changes: u64) {
        {
            let mut state = self.lock(changes);
            state.entries.clear();
            state.complete = Some(Instant::now() + ttl);
        }
        self.learn(tablets, ttl, changes);
    }

    /// No tablet holds this point; nor do the keys up to the next tablet that the master named.
    pub fn learn_gap(&self, point: &Point, answer: &[Arc<Tablet>], ttl: Duration, changes: u64) {
        let later = answer.iter().filter(|t| t.partition.buckets == point.buckets);
        let next = later.map(|t| &t.partition.range_start).filter(|s| **s > point.range_key).min();
        let end = next.cloned().unwrap_or_else(|| [&point.range_key[..], &[0]].concat());
        let mut state = self.lock(changes);
        if state.entries.len() < MAX_ENTRIES {
            let key = (point.buckets.clone(), point.range_key.clone());
            state.entries.insert(key, (Entry::Gap { end }, Instant::now() + ttl));
        }
    }

    pub fn forget(&self, tablet: &Tablet) {
        let mut state = self.state.lock().unwrap_or_else(|e| e.into_inner());
        state.complete = None;
        state.entries.remove(&(tablet.partition.buckets.clone(), tablet.partition.range_start.clone()));
    }
}

/// The tablets of an answer, in its order.
pub fn read_answer(answer: &GetTableLocationsResponsePb) -> Result<Vec<Arc<Tablet>>> {
    let servers: Vec<Arc<Server>> = answer.ts_infos.iter().map(|s| Arc::new(read_server(s))).collect();
    let tablets = answer.tablet_locations.iter().map(|t| {
        let id = String::from_utf8(t.tablet_id.to_vec()).map_err(|_| Error::protocol("a tablet id that is no text"))?;
        let partition = Partition::from_pb(t.partition.as_ref().unwrap_or(&Default::default()))?;
        let mut replicas = Vec::with_capacity(t.interned_replicas.len());
        for r in &t.interned_replicas {
            let server = servers.get(r.ts_info_idx as usize);
            let server = server.ok_or_else(|| Error::protocol("a replica at a server that was not named"))?.clone();
            replicas.push(Replica { server, role: r.role() });
        }
        for r in &t.deprecated_replicas {
            replicas.push(Replica { server: Arc::new(read_server(&r.ts_info)), role: r.role() });
        }
        Ok(Arc::new(Tablet { id, partition, replicas, out: Mutex::default() }))
    });
    tablets.collect()
}

fn read_server(info: &TsInfoPb) -> Server {
    let port = |p: u32| u16::try_from(p).unwrap_or_default();
    Server {
        uuid: String::from_utf8_lossy(&info.permanent_uuid).into_owned(),
        addresses: info.rpc_addresses.iter().map(|a| (a.host.clone(), port(a.port))).collect(),
        location: info.location.clone().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tablet(bucket: u32, start: &str, end: &str) -> Arc<Tablet> {
        let partition = Partition { buckets: vec![bucket], range_start: start.into(), range_end: end.into() };
        let server = |n: u8, role| Replica {
            server: Arc::new(Server { uuid: format!("s{n}"), addresses: vec![], location: String::new() }),
            role,
        };
        let replicas = vec![server(1, Role::Follower), server(2, Role::Leader), server(3, Role::Follower)];
        Arc::new(Tablet { id: format!("{bucket}{start}"), partition, replicas, out: Mutex::default() })
    }
    fn point(bucket: u32, key: &str) -> Point {
        Point { buckets: vec![bucket], range_key: key.into() }
    }

    #[test]
    fn gaps_are_known_until_a_partition_is_added() {
        let locations = Locations::default();
        let ttl = Duration::from_secs(60);
        let answer = [tablet(0, "a", "c"), tablet(0, "x", "")];
        locations.learn(&answer, ttl, 0);
        locations.learn_gap(&point(0, "k"), &answer, ttl, 0);
        assert!(matches!(locations.find(&point(0, "b"), 0), Some(Found::Tablet(t)) if t.id == "0a"));
        assert!(matches!(locations.find(&point(0, "z"), 0), Some(Found::Tablet(t)) if t.id == "0x"));
        assert!(matches!(locations.find(&point(0, "m"), 0), Some(Found::Gap)));
        assert!(locations.find(&point(0, "d"), 0).is_none(), "before the gap that is known");
        assert!(locations.find(&point(1, "b"), 0).is_none(), "another bucket");
        assert!(locations.find(&point(0, "m"), 1).is_none(), "this client has added a partition");
    }

    #[test]
    fn what_is_known_too_long_is_asked_again() {
        let locations = Locations::default();
        locations.learn_all(&[tablet(0, "", "")], Duration::ZERO, 0);
        std::thread::sleep(Duration::from_millis(2));
        assert!(locations.find(&point(0, "b"), 0).is_none());
        assert!(locations.all(0).is_none());
    }

    #[test]
    fn the_leader_is_asked_first_then_the_others_then_the_master() {
        let t = tablet(0, "", "");
        let mut asked = vec![];
        while let Some(server) = t.pick(ReplicaSelection::LeaderOnly, true, "") {
            t.rule_out(&server);
            asked.push(server.uuid.clone());
        }
        assert_eq!(asked, ["s2", "s1", "s3"]);
        let t = tablet(0, "", "");
        t.rule_out(&t.replicas[1].server);
        assert!(t.pick(ReplicaSelection::LeaderOnly, false, "").is_none(), "a scan of the leader is not another's");
    }
}
