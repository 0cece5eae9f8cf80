//! `wasmill check --connect`: asks every server of the job whether its tables are there and fit.

use crate::error::{Error, Result};
use crate::plan::graph::{JobGraph, OperatorKind, TableBinding};
use crate::session::CompiledJob;

/// Adds what the servers say to the job's messages.
pub fn connect(job: &mut CompiledJob) -> Result<()> {
    let Some(graph) = &job.graph else { return Ok(()) };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|e| Error::external(format!("cannot start the I/O runtime: {e}")))?;
    let refused = runtime.block_on(probe(graph));
    runtime.shutdown_background();
    for (table, error) in refused {
        job.refused_by_server(&table, error);
    }
    Ok(())
}

async fn probe(graph: &JobGraph) -> Vec<(std::sync::Arc<str>, Error)> {
    let mut refused = vec![];
    for o in &graph.operators {
        let (table, outcome) = match &o.kind {
            OperatorKind::Source(t) => (t, probe_source(t).await),
            OperatorKind::LookupJoin(j) => (&j.side, probe_lookup(&j.side).await),
            OperatorKind::Sink(s) => (&s.table, probe_sink(&s.table).await),
            OperatorKind::Calc(_) | OperatorKind::Union | OperatorKind::Correlate(_) => continue,
        };
        if let Err(e) = outcome {
            refused.push((table.context.table.clone(), e));
        }
    }
    refused
}

async fn probe_source(t: &TableBinding) -> Result<()> {
    if t.access.is_absent() { Ok(()) } else { t.access.source(&t.context)?.probe().await }
}

async fn probe_lookup(t: &TableBinding) -> Result<()> {
    if t.access.is_absent() { Ok(()) } else { t.access.lookup(&t.context)?.probe().await }
}

async fn probe_sink(t: &TableBinding) -> Result<()> {
    if t.access.is_absent() { Ok(()) } else { t.access.sink(&t.context)?.probe().await }
}
