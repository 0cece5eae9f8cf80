use crate::support::*;
use kudu_rs::{Client, FlushMode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

async fn client_of(cluster: &Cluster) -> Client {
    Client::builder()
        .masters([cluster.master()])
        .operation_timeout(Duration::from_secs(60))
        .rpc_timeout(Duration::from_secs(3))
        .build()
        .await
        .expect("up")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_row_is_lost_or_written_twice_when_servers_are_killed_under_load() {
    let cluster = Cluster::start(&[("KUDU_TSERVERS", "3")]);
    let client = client_of(&cluster).await;
    let table = table(&client, "failover", 3).await;
    let session = client.session().batch_rows(50).flush_interval(Duration::from_millis(5)).build();
    let stop = Arc::new(AtomicBool::new(false));
    let writer = tokio::spawn({
        let (table, session, stop) = (table.clone(), session.clone(), stop.clone());
        async move {
            let mut k = 0;
            while !stop.load(Ordering::Relaxed) {
                session.apply(table.insert(row(&table, k, i64::from(k)))).await.expect("taken");
                k += 1;
                if k % 100 == 0 {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            }
            k
        }
    });
    // Each server leads some of the four tablets; so leaders die.
    for n in 1..=3 {
        tokio::time::sleep(Duration::from_millis(1500)).await;
        cluster.kill_tserver(n);
        tokio::time::sleep(Duration::from_secs(4)).await;
        cluster.restart_tserver(n, &[]);
        tokio::time::sleep(Duration::from_secs(3)).await;
    }
    stop.store(true, Ordering::Relaxed);
    let rows = writer.await.expect("no panic");
    let done = session.flush().await;
    // A row sent twice as two requests would be "key already present".
    assert!(
        done.errors.is_empty(),
        "{} of {rows} failed: {:?}",
        done.errors.len(),
        done.errors.first().map(|e| &e.error)
    );
    assert_eq!(done.written, rows as u64);
    let scan = table.scan().fault_tolerant().build().expect("valid");
    let seen = pairs(&scan.collect().await.expect("rows"));
    assert_eq!(seen.len(), rows as usize);
    assert!(seen.iter().enumerate().all(|(i, (k, v))| *k == i as i32 && *v == Some(i64::from(*k))));
    assert!(rows > 1000, "{rows}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fault_tolerant_scan_goes_on_when_its_server_is_killed() {
    let cluster = Cluster::start(&[("KUDU_TSERVERS", "3")]);
    let client = client_of(&cluster).await;
    let table = table(&client, "scan_failover", 3).await;
    fill(&table, (0..20_000).map(|k| (k, 1))).await;
    let mut scan = table.scan().fault_tolerant().batch_size_bytes(2000).build().expect("valid");
    let mut keys = vec![];
    let mut killed = 0;
    while let Some(batch) = scan.next().await {
        keys.extend(ints(&[batch.expect("it goes on")], "k"));
        if keys.len() > 1000 && killed == 0 || keys.len() > 12_000 && killed == 1 {
            killed += 1;
            cluster.kill_tserver(killed);
            if killed == 1 {
                cluster.restart_tserver(1, &[]);
                tokio::time::sleep(Duration::from_secs(4)).await;
            }
        }
    }
    assert_eq!(killed, 2);
    keys.sort_unstable();
    assert_eq!(keys, (0..20_000).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_connection_that_the_server_closed_is_made_again() {
    let cluster = Cluster::start(&[("KUDU_FLAGS", "--rpc_default_keepalive_time_ms=300")]);
    let client = client_of(&cluster).await;
    let table = table(&client, "idle", 1).await;
    let session = client.session().flush_mode(FlushMode::Sync).build();
    for k in 0..4 {
        session.apply(table.insert(row(&table, k, 1i64))).await.expect("written");
        tokio::time::sleep(Duration::from_millis(900)).await;
    }
    assert_eq!(count(&table.scan().build().expect("valid").collect().await.expect("rows")), 4);
}

#[tokio::test]
async fn a_cluster_that_is_not_there_is_told_within_the_time() {
    let start = std::time::Instant::now();
    let one = Client::builder().masters(["127.0.0.1:1"]).operation_timeout(Duration::from_secs(2)).build().await;
    let e = one.expect_err("nobody there");
    assert!(e.is_timeout() && e.is_retryable(), "{e}");
    assert!(e.to_string().contains("127.0.0.1:1") && e.to_string().contains("refused"), "{e}");
    assert!(start.elapsed() < Duration::from_secs(4));
    let wrong = Client::builder().masters(["h:x"]).build().await.expect_err("no address");
    assert!(wrong.to_string().contains("`h:x` is no address"), "{wrong}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_of_three_masters_may_stop() {
    let mut cluster = MiniCluster::start(3, 1);
    let masters = cluster.masters();
    assert_eq!(masters.len(), 3);
    let connect = |masters: Vec<String>, seconds| {
        Client::builder()
            .masters(masters)
            .operation_timeout(Duration::from_secs(seconds))
            .rpc_timeout(Duration::from_secs(2))
            .build()
    };
    let client = connect(masters.clone(), 60).await.expect("up");
    for i in 0..3 {
        let daemon = format!(r#"{{"id":{{"type":"MASTER","index":{i}}}}}"#);
        // The one that is paused holds its connections, and says nothing.
        let (stop, start) = if i == 1 { ("pause_daemon", "resume_daemon") } else { ("stop_daemon", "start_daemon") };
        cluster.tell(&format!(r#"{{"{stop}":{daemon}}}"#));
        let table = table(&client, "masters", 1).await;
        fill(&table, (0..10).map(|k| (k, 1))).await;
        let table = table.reopen().await.expect("there");
        assert_eq!(count(&table.scan().build().expect("valid").collect().await.expect("rows")), 10);
        cluster.tell(&format!(r#"{{"{start}":{daemon}}}"#));
    }
    // With one address alone, the client may have luck, or is told what is wrong.
    let mut told = 0;
    for m in masters {
        match connect(vec![m], 3).await {
            Ok(_) => {}
            Err(e) => {
                assert!(e.to_string().contains("the cluster has 3 masters: name all of them"), "{e}");
                told += 1;
            }
        }
    }
    assert_eq!(told, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_says_nothing_more_is_passed_by() {
    let mut cluster = MiniCluster::start(1, 3);
    let masters = cluster.masters();
    let builder = Client::builder().masters(masters).operation_timeout(Duration::from_secs(60));
    let client = builder.rpc_timeout(Duration::from_secs(2)).build().await.expect("up");
    let table = table(&client, "silent", 3).await;
    fill(&table, (0..100).map(|k| (k, 1))).await;
    for i in 0..3 {
        let daemon = format!(r#"{{"id":{{"type":"TSERVER","index":{i}}}}}"#);
        cluster.tell(&format!(r#"{{"pause_daemon":{daemon}}}"#));
        fill(&table, (0..100).map(|k| (k, 2 + i))).await;
        let scan = table.scan().build().expect("valid").collect().await.expect("rows");
        assert!(pairs(&scan).iter().all(|(_, v)| *v == Some(2 + i)), "round {i}");
        cluster.tell(&format!(r#"{{"resume_daemon":{daemon}}}"#));
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
}
