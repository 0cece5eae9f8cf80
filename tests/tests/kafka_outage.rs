//! Brokers that go away and come back.

use crate::kafka_support::{Running, flink_table, until};
use wasmill_tests::services::{Kafka, PrivateService, Proxy};

const SOURCE: &str = "'scan.startup.mode' = 'earliest-offset', 'format' = 'json'";

fn copy_job(kafka: &Kafka, from: &str, to: &str) -> Running {
    let source = flink_table(kafka, "src", "n INT", from, SOURCE);
    let sink = flink_table(kafka, "o", "n INT", to, "'format' = 'json'");
    Running::start(&format!("{source}{sink}INSERT INTO o SELECT n FROM src;"))
}

fn values(kafka: &Kafka, topic: &str) -> Vec<String> {
    let mut values = kafka.values(topic);
    values.sort();
    values.dedup();
    values
}

#[test]
fn a_broker_that_restarts_is_waited_for() {
    let broker = PrivateService::start_with("kafka", &[("KAFKA_HEAP_MB", "256")]);
    let kafka = Kafka { brokers: broker.get("WASMILL_KAFKA") };
    let (from, to) = (kafka.topic("restart", 1), kafka.topic("restart_out", 1));
    kafka.produce(&from, 0, "{\"n\":1}\n");
    let mut job = copy_job(&kafka, &from, &to);
    until("the first record", || values(&kafka, &to).len() == 1);
    broker.kill();
    broker.restart();
    kafka.produce(&from, 0, "{\"n\":2}\n");
    until("the second record", || values(&kafka, &to).len() == 2);
    assert!(job.is_running());
    job.end().expect_code(0).expect_stderr("retries");
}

#[test]
fn cut_connections_are_made_again() {
    let listener = Proxy::reserve();
    let address = listener.local_addr().expect("an address").to_string();
    let broker = PrivateService::start_with("kafka", &[("KAFKA_HEAP_MB", "256"), ("KAFKA_ADVERTISED", &address)]);
    let proxy = Proxy::on(listener, &broker.get("WASMILL_KAFKA"));
    let kafka = Kafka { brokers: proxy.address.clone() };
    let (from, to) = (kafka.topic("cut", 1), kafka.topic("cut_out", 1));
    let mut job = copy_job(&kafka, &from, &to);
    for n in 1..=3 {
        kafka.produce(&from, 0, &format!("{{\"n\":{n}}}\n"));
        until("the record", || values(&kafka, &to).len() == n);
        proxy.cut();
    }
    assert!(job.is_running());
    job.end().expect_code(0);
}
