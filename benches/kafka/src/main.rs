//! Bare Kafka programs, without an engine: the baseline of the Kafka benches, and a meter for latency.
//!
//!   bench-kafka produce BROKERS TOPIC FILE            one record a line, in turn to two partitions
//!   bench-kafka w1 BROKERS IN OUT RECORDS             consume, parse (simd-json), filter, project, produce
//!   bench-kafka latency BROKERS IN OUT RATE SECONDS   numbered records at a steady rate into IN, until they come out
//!                                                     of OUT; prints percentiles of the time between, in ms

use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use rdkafka::{Message, Offset, TopicPartitionList};
use simd_json::prelude::*;
use std::error::Error;
use std::io::Write;
use std::time::{Duration, Instant};

type Done<T> = Result<T, Box<dyn Error>>;

const PARTITIONS: i32 = 2;

fn main() -> Done<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["produce", brokers, topic, file] => produce(brokers, topic, file),
        ["w1", brokers, from, to, records] => w1(brokers, from, to, records.parse()?),
        ["latency", brokers, from, to, rate, seconds] => latency(brokers, from, to, rate.parse()?, seconds.parse()?),
        _ => Err("see the head of main.rs".into()),
    }
}

/// As Flink's side of the bench is set: linger 20 ms, 256 KiB batches, acks 1.
fn producer(brokers: &str, linger_ms: &str) -> Done<BaseProducer> {
    Ok(ClientConfig::new()
        .set("bootstrap.servers", brokers)
        .set("linger.ms", linger_ms)
        .set("batch.size", "262144")
        .set("batch.num.messages", "20000")
        .set("queue.buffering.max.messages", "200000")
        .set("acks", "1")
        .create()?)
}

fn consumer(brokers: &str, topic: &str, from: Offset) -> Done<BaseConsumer> {
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", brokers)
        .set("group.id", "bench")
        .set("enable.auto.commit", "false")
        .set("fetch.message.max.bytes", "4194304")
        .set("queued.min.messages", "200000")
        .set("fetch.queue.backoff.ms", "5")
        .set("fetch.wait.max.ms", "5")
        .create()?;
    let mut partitions = TopicPartitionList::new();
    for p in 0..PARTITIONS {
        partitions.add_partition_offset(topic, p, from)?;
    }
    consumer.assign(&partitions)?;
    Ok(consumer)
}

fn send(producer: &BaseProducer, topic: &str, partition: i32, payload: &[u8]) {
    while producer.send(BaseRecord::<(), [u8]>::to(topic).partition(partition).payload(payload)).is_err() {
        producer.poll(Duration::from_millis(2));
    }
}

fn produce(brokers: &str, topic: &str, file: &str) -> Done<()> {
    let data = std::fs::read(file)?;
    let producer = producer(brokers, "20")?;
    for (n, line) in data.split(|b| *b == b'\n').filter(|l| !l.is_empty()).enumerate() {
        send(&producer, topic, (n / 100) as i32 % PARTITIONS, line);
        if n % 1000 == 0 {
            producer.poll(Duration::ZERO);
        }
    }
    producer.flush(Duration::from_secs(60))?;
    Ok(())
}

/// `WHERE CAST(pv AS INT) >= 20`; `UPPER(channel), CONCAT(name, '-', a), CAST(pv AS INT), CAST(a AS INT) + CAST(b AS INT)`
fn w1(brokers: &str, from: &str, to: &str, records: u64) -> Done<()> {
    let consumer = consumer(brokers, from, Offset::Beginning)?;
    let producer = producer(brokers, "20")?;
    let (mut read, mut written) = (0u64, 0u64);
    let (mut input, mut output) = (Vec::with_capacity(256), Vec::with_capacity(256));
    let mut buffers = simd_json::Buffers::default();
    while read < records {
        let Some(message) = consumer.poll(Duration::from_millis(200)) else { continue };
        let message = message?;
        read += 1;
        input.clear();
        input.extend_from_slice(message.payload().unwrap_or_default());
        if project(&mut input, &mut buffers, &mut output)? {
            send(&producer, to, (written / 100) as i32 % PARTITIONS, &output);
            written += 1;
            if written.is_multiple_of(1000) {
                producer.poll(Duration::ZERO);
            }
        }
    }
    producer.flush(Duration::from_secs(60))?;
    println!("{read} in, {written} out");
    Ok(())
}

fn project(input: &mut [u8], buffers: &mut simd_json::Buffers, out: &mut Vec<u8>) -> Done<bool> {
    let tape = simd_json::to_tape_with_buffers(input, buffers)?;
    let value = tape.as_value();
    let Some(object) = value.as_object() else { return Ok(false) };
    let (mut channel, mut name, mut pv, mut a, mut b) = ("", "", "", "", "");
    for (key, value) in object.iter() {
        let text = value.into_string().unwrap_or("");
        match key {
            "channel" => channel = text,
            "name" => name = text,
            "pv" => pv = text,
            "a" => a = text,
            "b" => b = text,
            _ => {}
        }
    }
    let pv: i32 = pv.parse()?;
    if pv < 20 {
        return Ok(false);
    }
    let sum = a.parse::<i32>()? + b.parse::<i32>()?;
    out.clear();
    out.extend_from_slice(b"{\"channel\":\"");
    out.extend(channel.bytes().map(|c| c.to_ascii_uppercase()));
    write!(out, "\",\"name\":\"{name}-{a}\",\"pv\":{pv},\"ab\":{sum}}}")?;
    Ok(true)
}

/// Each record holds the time at which it was due, so a sender that falls behind does not flatter the result.
fn latency(brokers: &str, from: &str, to: &str, rate: u64, seconds: u64) -> Done<()> {
    let total = rate * seconds;
    let start = Instant::now();
    let consumer = consumer(brokers, to, Offset::End)?;
    // The position is known once the first poll has found it.
    consumer.poll(Duration::from_secs(2));
    let origin = Instant::now() + Duration::from_millis(200);
    let (brokers, from) = (brokers.to_string(), from.to_string());
    let sender = std::thread::spawn(move || -> Result<(), String> {
        let producer = producer(&brokers, "1").map_err(|e| e.to_string())?;
        for n in 0..total {
            let due = origin + Duration::from_nanos(n * 1_000_000_000 / rate);
            while Instant::now() < due {
                producer.poll(Duration::ZERO);
                std::thread::sleep(Duration::from_micros(500));
            }
            let micros = (due - origin).as_micros();
            let record = format!("{{\"channel\":\"a\",\"name\":\"{micros}\",\"pv\":\"99\",\"a\":\"1\",\"b\":\"2\"}}");
            send(&producer, &from, n as i32 % PARTITIONS, record.as_bytes());
        }
        producer.flush(Duration::from_secs(30)).map_err(|e| e.to_string())
    });
    let mut took: Vec<f64> = Vec::with_capacity(total as usize);
    let warm = rate / 2;
    let mut seen = 0;
    while seen < total && start.elapsed() < Duration::from_secs(seconds + 60) {
        let Some(message) = consumer.poll(Duration::from_millis(100)) else { continue };
        let message = message?;
        let now = Instant::now();
        let text = std::str::from_utf8(message.payload().unwrap_or_default())?;
        let Some(micros) = text.split("\"name\":\"").nth(1).and_then(|t| t.split(['-', '"']).next()) else { continue };
        seen += 1;
        if seen > warm {
            let due = origin + Duration::from_micros(micros.parse()?);
            took.push(now.saturating_duration_since(due).as_secs_f64() * 1000.0);
        }
    }
    sender.join().map_err(|_| "the sender panicked")??;
    took.sort_by(f64::total_cmp);
    let at = |share: f64| took.get(((took.len() as f64 - 1.0) * share) as usize).copied().unwrap_or(f64::NAN);
    println!(
        "{seen} of {total} records at {rate}/s: p50 {:.1} ms, p90 {:.1} ms, p99 {:.1} ms, p99.9 {:.1} ms, max {:.1} ms",
        at(0.5),
        at(0.9),
        at(0.99),
        at(0.999),
        at(1.0)
    );
    Ok(())
}
