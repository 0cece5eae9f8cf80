//! Pieces of a scan, one per tablet, which can be read in parallel, also by other processes.

use super::{Options, ReadMode, ReplicaSelection, Scan, ScanBuilder, Spec};
use crate::client::Client;
use crate::clock;
use crate::error::{Error, Result};
use crate::pb::kudu::client::ScanTokenPb;
use crate::pb::kudu::master::TableIdentifierPb;
use crate::pb::kudu::{ReadMode as WireReadMode, ReplicaSelection as WireSelection};
use crate::predicate::Merged;
use crate::schema::ColumnSchema;
use crate::table::Table;
use crate::tablets::Tablet;
use prost::Message;
use std::sync::Arc;

/// The part of a scan that one tablet holds.
#[derive(Clone)]
pub struct ScanToken {
    spec: Arc<Spec>,
    tablet: Arc<Tablet>,
}

impl ScanToken {
    pub(crate) fn new(spec: Arc<Spec>, tablet: Arc<Tablet>) -> Self {
        Self { spec, tablet }
    }
    pub fn tablet_id(&self) -> &str {
        &self.tablet.id
    }
    /// The rows of this piece.
    pub fn scan(&self) -> Scan {
        Scan::new(self.spec.clone(), Some(vec![self.tablet.clone()]))
    }

    /// Bytes that the clients of other languages read too.
    pub fn serialize(&self) -> Result<Vec<u8>> {
        let (spec, partition) = (&self.spec, &self.tablet.partition);
        if spec.table.partition_schema().has_custom_hash() {
            return Err(Error::NotSupported(
                "scan tokens of tables whose ranges have hash buckets of their own".into(),
            ));
        }
        let buckets: Vec<u8> = partition.buckets.iter().flat_map(|b| b.to_be_bytes()).collect();
        let lower = [buckets.clone(), partition.range_start.clone()].concat();
        // Without an end the piece reaches to the next bucket.
        let upper = match partition.range_end.is_empty() {
            false => [buckets, partition.range_end.clone()].concat(),
            true => next_prefix(buckets),
        };
        let options = &spec.options;
        let (read_mode, snapshot) = match options.read_mode {
            ReadMode::Latest => (WireReadMode::ReadLatest, None),
            ReadMode::YourWrites => (WireReadMode::ReadYourWrites, None),
            ReadMode::Snapshot(t) => (WireReadMode::ReadAtSnapshot, t.map(clock::from_micros)),
        };
        let selection = match options.selection {
            ReplicaSelection::LeaderOnly => WireSelection::LeaderOnly,
            ReplicaSelection::Closest => WireSelection::ClosestReplica,
        };
        let columns = spec.table.schema().columns().iter();
        let bytes = |b: &[u8]| (!b.is_empty()).then(|| b.to_vec().into());
        let pb = ScanTokenPb {
            table_id: Some(spec.table.id()),
            table_name: Some(spec.table.name().to_string()),
            projected_columns: spec.projection.iter().map(ColumnSchema::to_pb_projected).collect(),
            column_predicates: columns.zip(&spec.predicates).filter_map(|(c, p)| p.to_pb(c)).collect(),
            lower_bound_primary_key: bytes(&spec.start_key),
            upper_bound_primary_key: bytes(&spec.stop_key),
            lower_bound_partition_key: bytes(&lower),
            upper_bound_partition_key: bytes(&upper),
            limit: options.limit,
            read_mode: Some(read_mode as i32),
            snap_timestamp: snapshot,
            propagated_timestamp: spec.table.client().shared.clock.latest(),
            cache_blocks: Some(options.cache_blocks),
            fault_tolerant: Some(options.fault_tolerant),
            batch_size_bytes: Some(options.batch_bytes),
            replica_selection: Some(selection as i32),
            ..Default::default()
        };
        Ok(pb.encode_to_vec())
    }

    /// A token of another process, for this client's cluster.
    pub async fn deserialize(client: &Client, bytes: &[u8]) -> Result<Self> {
        let pb = ScanTokenPb::decode(bytes).map_err(|e| Error::invalid(format!("no scan token: {e}")))?;
        if !pb.feature_flags.is_empty() {
            return Err(Error::NotSupported("this scan token needs features that are not known here".into()));
        }
        let table = TableIdentifierPb {
            table_id: pb.table_id.clone().map(|id| id.into_bytes().into()),
            table_name: pb.table_name.clone().filter(|_| pb.table_id.is_none()),
        };
        let table = Table::open(client, table).await?;
        let schema = table.schema().clone();
        let builder = ScanBuilder::new(&table);
        let builder = match pb.projected_columns.is_empty() && !pb.projected_column_idx.is_empty() {
            false => builder.project(pb.projected_columns.iter().map(|c| c.name.clone())),
            true => {
                let names = pb.projected_column_idx.iter().map(|i| {
                    let column = usize::try_from(*i).ok().and_then(|i| schema.columns().get(i));
                    column.map(|c| c.name.clone()).ok_or_else(|| Error::invalid("a scan token of other columns"))
                });
                builder.project(names.collect::<Result<Vec<_>>>()?)
            }
        };
        let mut spec = builder.spec()?;
        for p in &pb.column_predicates {
            let i = schema.index_of(p.column())?;
            spec.predicates[i] = Merged::from_pb(p, &schema.columns()[i])?;
        }
        spec.start_key = pb.lower_bound_primary_key().to_vec();
        spec.stop_key = pb.upper_bound_primary_key().to_vec();
        set_options(&mut spec.options, &pb);
        client.shared.clock.observe(pb.propagated_timestamp);
        let lower = pb.lower_bound_partition_key().to_vec();
        let tablets = table.tablets(client.deadline()).await?;
        let of = |t: &Tablet| {
            let buckets: Vec<u8> = t.partition.buckets.iter().flat_map(|b| b.to_be_bytes()).collect();
            [buckets, t.partition.range_start.clone()].concat()
        };
        // The first tablet's key may be written out or be left empty.
        let tablet = tablets.iter().find(|t| of(t) == lower).or(tablets.first().filter(|_| lower.is_empty()));
        let gone = || Error::invalid("the tablet of this scan token is gone: its partition was dropped");
        Ok(Self::new(Arc::new(spec), tablet.ok_or_else(gone)?.clone()))
    }
}

fn set_options(options: &mut Options, pb: &ScanTokenPb) {
    options.limit = pb.limit;
    options.fault_tolerant = pb.fault_tolerant();
    options.cache_blocks = pb.cache_blocks();
    if let Some(bytes) = pb.batch_size_bytes {
        options.batch_bytes = bytes;
    }
    options.selection = match pb.replica_selection() {
        WireSelection::ClosestReplica => ReplicaSelection::Closest,
        _ => ReplicaSelection::LeaderOnly,
    };
    options.read_mode = match pb.read_mode() {
        WireReadMode::ReadAtSnapshot => ReadMode::Snapshot(pb.snap_timestamp.map(|t| t >> 12)),
        WireReadMode::ReadYourWrites => ReadMode::YourWrites,
        _ => ReadMode::Latest,
    };
}

fn next_prefix(mut key: Vec<u8>) -> Vec<u8> {
    while let Some(last) = key.last_mut() {
        if *last < 0xff {
            *last += 1;
            return key;
        }
        key.pop();
    }
    key
}
