//! Whole files as a lookup table's snapshot.

use super::reader::FileReader;
use super::records::RecordSpec;
use crate::connectors::api::{
    FailedRow, FormatBinding, LookupCache, LookupSettings, LookupSource, Snapshot, SourceOutput, SourceReader,
    SourceSplit,
};
use crate::data::{Origin, RecordChunk};
use crate::error::Result;
use crate::formats::Decoder;
use crate::sql::options::ResolvedOptions;
use async_trait::async_trait;
use std::sync::Arc;
use std::time::Duration;

const ROWS_PER_BATCH: usize = 8192;

/// Lists the splits to read, anew at each load: files come and go.
pub type ListSplits = Box<dyn Fn() -> Result<Vec<SourceSplit>> + Send + Sync>;

/// A side table in files.
pub struct FileLookup {
    pub spec: RecordSpec,
    pub format: Arc<dyn FormatBinding>,
    pub splits: ListSplits,
    pub reload: Option<Duration>,
}

#[async_trait]
impl LookupSource for FileLookup {
    async fn load_all(&self) -> Result<Snapshot> {
        let mut reader = FileReader::new(self.spec.clone());
        (self.splits)()?.into_iter().for_each(|split| reader.add_split(split));
        let mut decoder = self.format.decoder()?;
        let mut snapshot = Snapshot::default();
        while let SourceOutput::Records(chunk) = reader.next_output(ROWS_PER_BATCH)? {
            decode_into(&mut snapshot, decoder.as_mut(), Arc::new(chunk))?;
        }
        Ok(snapshot)
    }

    fn settings(&self) -> LookupSettings {
        LookupSettings { cache: LookupCache::All { reload: self.reload }, ..LookupSettings::load_all() }
    }
}

fn decode_into(snapshot: &mut Snapshot, decoder: &mut dyn Decoder, chunk: Arc<RecordChunk>) -> Result<()> {
    for refused in &chunk.refused {
        snapshot.failed.push(FailedRow { origin: chunk.origin_of(refused), error: refused.error.clone() });
    }
    let decoded = decoder.decode(&chunk)?;
    let origin = Origin::all(chunk);
    for error in decoded.refused() {
        snapshot.failed.push(FailedRow { origin: origin.of_row(error.row as usize), error: error.clone() });
    }
    if decoded.columns.num_rows() > 0 {
        snapshot.batches.push(decoded.columns);
    }
    Ok(())
}

/// When a side table is loaded anew: Flink's interval of a FULL cache, else the time to live of its rows (for
/// flinkStreamSQL's cache ALL they are the same thing).
pub fn reload_interval(options: &ResolvedOptions) -> Option<Duration> {
    options
        .duration("lookup.reload-interval")
        .or_else(|| options.duration("lookup.cache.ttl"))
        .filter(|interval| !interval.is_zero())
}
