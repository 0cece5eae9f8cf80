use super::*;
use crate::connectors::api::{LookupSettings, LruSpec, Snapshot as ApiSnapshot};
use crate::data::FailurePolicy;
use crate::expr::ExprContext;
use crate::metrics::OperatorRole;
use crate::operators::failures::DeadLetters;
use arrow::array::{ArrayRef, AsArray, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Int32Type, Schema};
use async_trait::async_trait;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

/// Keys 0..100, each with as many rows as its last digit; remembers what it was asked.
struct Numbers {
    settings: LookupSettings,
    asked: Mutex<Vec<Vec<i32>>>,
    /// Queries that fail before one succeeds.
    failures: AtomicU32,
    takes: Duration,
}

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("id", DataType::Int32, true), Field::new("v", DataType::Utf8, true)]))
}

#[async_trait]
impl LookupSource for Numbers {
    fn settings(&self) -> LookupSettings {
        self.settings.clone()
    }
    async fn load_all(&self) -> Result<ApiSnapshot> {
        Err(Error::internal("not loaded whole"))
    }
    async fn lookup(&self, key_columns: &[String], keys: &RecordBatch) -> Result<ApiSnapshot> {
        assert_eq!((key_columns, keys.schema().field(0).data_type()), (&["id".to_string()][..], &DataType::Int32));
        let ids: Vec<i32> = keys.column(0).as_primitive::<Int32Type>().values().to_vec();
        self.asked.lock().unwrap().push(ids.clone());
        tokio::time::sleep(self.takes).await;
        if self.failures.fetch_update(SeqCst, SeqCst, |n| n.checked_sub(1)).is_ok() {
            return Err(Error::external("the server went away"));
        }
        let rows: Vec<i32> =
            ids.iter().filter(|i| (0..100).contains(*i)).flat_map(|&i| vec![i; (i % 10) as usize]).collect();
        let values = StringArray::from_iter_values(rows.iter().map(|i| format!("v{i}")));
        let columns: Vec<ArrayRef> = vec![Arc::new(Int32Array::from(rows)), Arc::new(values)];
        Ok(ApiSnapshot { batches: vec![RecordBatch::try_new(schema(), columns).unwrap()], failed: vec![] })
    }
}

fn settings(cache: LookupCache) -> LookupSettings {
    LookupSettings {
        cache,
        ordered: true,
        concurrency: 4,
        capacity: 12,
        keys_per_query: 3,
        timeout: None,
        unanswered_max: None,
        retries: 2,
    }
}

fn lru(max_keys: usize) -> LookupCache {
    LookupCache::Lru(LruSpec { max_keys, expire_after_write: None, expire_after_access: None, cache_missing: true })
}

fn table(source: Arc<dyn LookupSource>) -> Arc<SideTable> {
    use crate::expr::program::StepPlan;
    use datafusion_common::{Column, DFSchema};
    use datafusion_expr::{Expr, cast};
    let input = Arc::new(DFSchema::try_from(schema()).unwrap());
    let key = cast(Expr::Column(Column::new_unqualified("id")), DataType::Int64);
    let output = Arc::new(Schema::new(vec![Field::new("k", DataType::Int64, true)]));
    let step = StepPlan::Project { exprs: vec![key], names: vec!["k".into()], input, output };
    let keys = ProgramPlan::new(vec![step], Arc::new(ExprContext::default()));
    let stage = StagePolicy::new("dim", FailurePolicy::Fail, None);
    let failures = Arc::new(FailureHandler::new("job", DeadLetters::Printed));
    let metrics = OperatorMetrics::new("dim", OperatorRole::SideTable);
    let settings = source.settings();
    let columns = vec!["id".into()];
    Arc::new(SideTable::new("dim".into(), source, settings, schema(), columns, keys, 1 << 20, stage, failures, metrics))
}

fn numbers(cache: LookupCache) -> Arc<Numbers> {
    Arc::new(Numbers {
        settings: settings(cache),
        asked: Mutex::default(),
        failures: AtomicU32::new(0),
        takes: Duration::ZERO,
    })
}

fn keys(keys: &[Option<i64>]) -> Keys {
    let columns: Vec<ArrayRef> = vec![Arc::new(Int64Array::from(keys.to_vec()))];
    Keys { encoded: encode(&converter(&columns).unwrap(), &columns).unwrap(), columns }
}

async fn answer(table: &Arc<SideTable>, keys: &Arc<Keys>) -> Result<Answer> {
    match table.known(keys).await? {
        Known::All(rows) => Ok(Answer::of(rows)),
        Known::Some(known, missing) => table.ask(keys.clone(), known, missing).answer().await,
    }
}

/// How many rows each key has, as the join would see it. Keys are BIGINT, the column is INT.
async fn ask(table: &Arc<SideTable>, asked: &[Option<i64>]) -> Result<Vec<usize>> {
    let keys = Arc::new(keys(asked));
    let answer = answer(table, &keys).await?;
    assert!(answer.unanswered.is_empty(), "{}", answer.why);
    let rows = answer.rows;
    let count = |key: &Key| {
        let rows_of_key = rows.matches(key);
        let ids = rows.rows.column(0).as_primitive::<Int32Type>();
        assert!(rows_of_key.windows(2).all(|w| ids.value(w[0] as usize) == ids.value(w[1] as usize)));
        rows_of_key.len()
    };
    Ok(keys.encoded.iter().map(|k| k.as_ref().map_or(0, count)).collect())
}

fn asked(source: &Numbers) -> Vec<Vec<i32>> {
    let mut asked: Vec<Vec<i32>> = std::mem::take(&mut *source.asked.lock().unwrap());
    asked.sort();
    asked
}

#[tokio::test]
async fn many_keys_are_one_query_and_each_is_asked_for_once() {
    let source = numbers(lru(100));
    let table = table(source.clone());
    let counts = ask(&table, &[Some(13), None, Some(13), Some(5), Some(200), Some(21)]).await.unwrap();
    assert_eq!(counts, [3, 0, 3, 5, 0, 1]);
    assert_eq!(asked(&source), [vec![13, 5, 200], vec![21]]);
    assert_eq!(ask(&table, &[Some(200), Some(13)]).await.unwrap(), [0, 3]);
    assert_eq!(asked(&source), Vec::<Vec<i32>>::new(), "known keys, and known missing ones, are not asked for");
}

#[tokio::test]
async fn without_a_cache_each_batch_asks_anew() {
    let source = numbers(LookupCache::None);
    let table = table(source.clone());
    for _ in 0..2 {
        assert_eq!(ask(&table, &[Some(3), Some(3)]).await.unwrap(), [3, 3]);
        assert_eq!(asked(&source), [vec![3]]);
    }
}

#[tokio::test]
async fn a_key_that_does_not_fit_its_column_has_no_row_and_is_not_asked_for() {
    let source = numbers(lru(100));
    let table = table(source.clone());
    assert_eq!(ask(&table, &[Some(1 << 40), Some(2)]).await.unwrap(), [0, 2]);
    assert_eq!(asked(&source), [vec![2]]);
}

#[tokio::test]
async fn two_callers_share_one_query() {
    for cache in [lru(100), LookupCache::None] {
        let mut source = numbers(cache);
        Arc::get_mut(&mut source).unwrap().takes = Duration::from_millis(50);
        let table = table(source.clone());
        let (a, b) = tokio::join!(ask(&table, &[Some(4), Some(5)]), ask(&table, &[Some(5), Some(6)]));
        assert_eq!((a.unwrap(), b.unwrap()), (vec![4, 5], vec![5, 6]));
        assert_eq!(asked(&source), [vec![4, 5], vec![6]]);
    }
}

#[tokio::test]
async fn a_failed_query_is_tried_again_and_then_fails_the_job() {
    let source = numbers(lru(100));
    source.failures.store(2, SeqCst);
    let table = table(source.clone());
    assert_eq!(ask(&table, &[Some(1)]).await.unwrap(), [1]);
    assert_eq!(asked(&source).len(), 3);
    assert_eq!(table.metrics.retries.get(), 2);
    source.failures.store(3, SeqCst);
    let error = ask(&table, &[Some(2)]).await.unwrap_err();
    assert!(error.message.contains("side table dim: asked 3 time(s)"), "{error}");
    assert_eq!(ask(&table, &[Some(2)]).await.unwrap(), [2], "a failure is not remembered");
}

#[tokio::test]
async fn who_waits_for_a_query_that_fails_asks_himself() {
    let mut source = numbers(lru(100));
    {
        let s = Arc::get_mut(&mut source).unwrap();
        s.takes = Duration::from_millis(50);
        s.settings.retries = 0;
        s.failures = AtomicU32::new(1);
    }
    let table = table(source.clone());
    let (a, b) = tokio::join!(ask(&table, &[Some(7)]), ask(&table, &[Some(7)]));
    assert!(a.is_err());
    assert_eq!(b.unwrap(), [7]);
}

#[tokio::test]
async fn keys_without_an_answer_in_time_are_named_and_too_many_fail_the_job() {
    let mut source = numbers(lru(100));
    {
        let s = Arc::get_mut(&mut source).unwrap();
        s.takes = Duration::from_secs(5);
        s.settings.timeout = Some(Duration::from_millis(20));
        s.settings.retries = 1;
        s.settings.unanswered_max = Some(1);
    }
    let table = table(source.clone());
    let asked = Arc::new(keys(&[Some(1), None, Some(1)]));
    let late = answer(&table, &asked).await.unwrap();
    assert_eq!((late.why.as_str(), late.unanswered.len()), ("no answer within 20 ms", 1));
    assert!(late.unanswered.contains(asked.encoded[0].as_ref().unwrap()));
    assert_eq!((table.metrics.queries.get(), table.metrics.retries.get()), (2, 1));
    let error = answer(&table, &asked).await.err().unwrap();
    assert!(error.message.contains("more than 1 look-ups"), "{error}");
}

#[tokio::test]
async fn what_is_known_is_told_apart_from_what_has_to_be_asked_for() {
    let source = numbers(lru(100));
    let table = table(source.clone());
    ask(&table, &[Some(1)]).await.unwrap();
    match table.known(&keys(&[Some(2), Some(1), None, Some(3), Some(2)])).await.unwrap() {
        Known::Some(known, missing) => assert_eq!((known.len(), missing), (1, vec![0, 3])),
        Known::All(_) => panic!("knows all"),
    }
    assert_eq!((table.metrics.hits.get(), table.metrics.misses.get()), (1, 3));
}

#[tokio::test]
async fn keys_under_way_are_bounded_whoever_asks() {
    let mut source = numbers(LookupCache::None);
    {
        let s = Arc::get_mut(&mut source).unwrap();
        s.takes = Duration::from_millis(50);
        s.settings.capacity = 2;
    }
    let table = table(source.clone());
    let started = Instant::now();
    let ones: Vec<Vec<Option<i64>>> = (0..6).map(|n| vec![Some(n)]).collect();
    futures::future::join_all(ones.iter().map(|k| ask(&table, k))).await;
    assert!(started.elapsed() >= Duration::from_millis(150), "{:?}", started.elapsed());
}

/// A table that is loaded whole; what it holds changes with every load, and some loads fail.
struct Changing {
    loads: AtomicU32,
    failing: Mutex<Vec<u32>>,
}

#[async_trait]
impl LookupSource for Changing {
    fn settings(&self) -> LookupSettings {
        let cache = LookupCache::All { reload: Some(Duration::from_millis(20)) };
        LookupSettings { cache, ..LookupSettings::load_all() }
    }
    async fn load_all(&self) -> Result<ApiSnapshot> {
        let n = self.loads.fetch_add(1, SeqCst);
        if self.failing.lock().unwrap().contains(&n) {
            return Err(Error::external("the server is down"));
        }
        let columns: Vec<ArrayRef> =
            vec![Arc::new(Int32Array::from(vec![n.min(2) as i32])), Arc::new(StringArray::from(vec!["x"]))];
        Ok(ApiSnapshot { batches: vec![RecordBatch::try_new(schema(), columns).unwrap()], failed: vec![] })
    }
}

#[tokio::test]
async fn a_failed_reload_keeps_the_rows_and_the_next_one_brings_new_ones_b110() {
    let source = Arc::new(Changing { loads: AtomicU32::new(0), failing: Mutex::new(vec![1]) });
    let table = table(source.clone());
    table.open().await.unwrap();
    let end = Instant::now() + Duration::from_secs(10);
    let mut seen = vec![];
    while seen.last() != Some(&2) {
        assert!(Instant::now() < end, "saw {seen:?}");
        for n in 0..3 {
            if ask(&table, &[Some(n)]).await.unwrap() == [1] && seen.last() != Some(&n) {
                seen.push(n);
            }
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(seen, [0, 2]);
    assert!(table.metrics.retries.get() >= 1);
}

/// What a lookup join emits: the ids of its rows.
#[derive(Default)]
struct Emitted(Vec<i64>);

#[async_trait(?Send)]
impl crate::operators::Collector for Emitted {
    async fn emit(&mut self, batch: crate::data::Batch) -> Result<()> {
        let ids = batch.columns.column(0).as_primitive::<arrow::datatypes::Int64Type>();
        self.0.extend(ids.values().iter());
        Ok(())
    }
}

/// A stream of BIGINT keys, joined with the numbers.
fn join(side: Arc<SideTable>) -> crate::operators::LookupJoinOperator {
    use crate::expr::program::StepPlan;
    use datafusion_common::{Column, DFSchema};
    use datafusion_expr::Expr;
    let stream = Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, true)]));
    let input = Arc::new(DFSchema::try_from(stream.as_ref().clone()).unwrap());
    let key = Expr::Column(Column::new_unqualified("n"));
    let output = Arc::new(Schema::new(vec![Field::new("k", DataType::Int64, true)]));
    let step = StepPlan::Project { exprs: vec![key], names: vec!["k".into()], input, output };
    let fields = stream.fields().iter().chain(schema().fields()).cloned().collect::<Vec<_>>();
    let spec = crate::operators::LookupJoinSpec {
        side,
        keys: ProgramPlan::new(vec![step], Arc::new(ExprContext::default())),
        residual: None,
        left_outer: true,
        output: Arc::new(Schema::new(fields)),
    };
    let stage = StagePolicy::new("src", FailurePolicy::Skip, None);
    let failures = Arc::new(FailureHandler::new("job", DeadLetters::Printed));
    let metrics = OperatorMetrics::new("join", OperatorRole::Transform);
    crate::operators::LookupJoinOperator::new("join", spec, stage, failures, metrics).unwrap()
}

fn stream(ids: &[i64]) -> crate::data::Batch {
    let column: ArrayRef = Arc::new(Int64Array::from(ids.to_vec()));
    let columns = RecordBatch::try_from_iter([("n", column)]).unwrap();
    crate::data::Batch::new(columns, crate::data::Origin::unknown())
}

#[tokio::test]
async fn rows_in_flight_go_before_a_barrier_in_order_and_never_wait_for_more_input() {
    use crate::operators::Operator;
    let mut source = numbers(lru(100));
    Arc::get_mut(&mut source).unwrap().takes = Duration::from_millis(30);
    let mut join = join(table(source.clone()));
    let mut out = Emitted::default();
    for ids in [&[1, 11][..], &[21], &[1]] {
        join.process(stream(ids), &mut out).await.unwrap();
    }
    assert!(out.0.is_empty() && join.in_flight(), "{:?}", out.0);
    join.snapshot(crate::data::Epoch(1), &mut out).await.unwrap();
    assert_eq!(out.0, [1, 11, 21, 1]);
    assert!(!join.in_flight());
    // Without a barrier, an answer lets its rows go on.
    join.process(stream(&[31]), &mut out).await.unwrap();
    join.answered().await;
    join.emit_answered(&mut out).await.unwrap();
    assert_eq!(out.0.last(), Some(&31));
}

#[tokio::test]
async fn what_is_in_flight_is_bounded() {
    use crate::operators::Operator;
    let mut source = numbers(LookupCache::None);
    {
        let s = Arc::get_mut(&mut source).unwrap();
        s.takes = Duration::from_millis(5);
        s.settings.capacity = 1000;
        s.settings.concurrency = 1000;
    }
    let mut join = join(table(source.clone()));
    let mut out = Emitted::default();
    for id in 0..300 {
        join.process(stream(&[id]), &mut out).await.unwrap();
        let emitted = out.0.iter().collect::<std::collections::BTreeSet<_>>().len();
        assert!(id as usize - emitted <= 64, "{id} came, {emitted} went on");
    }
    join.finish(crate::data::Epoch(1), &mut out).await.unwrap();
    assert!(out.0.windows(2).all(|w| w[0] <= w[1]));
}
