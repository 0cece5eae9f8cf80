//! Makes a table, writes, reads, looks rows up: `cargo run --release -p kudu-rs --example quickstart -- 127.0.0.1:7051`

use kudu_rs::{Client, ColumnSchema, DataType, Predicate, Schema, Value};

#[tokio::main]
async fn main() -> kudu_rs::Result<()> {
    let masters = std::env::args().nth(1).unwrap_or("127.0.0.1:7051".into());
    let client = Client::builder().masters([masters]).build().await?;

    let schema = Schema::new([
        ColumnSchema::new("city", DataType::String).key(),
        ColumnSchema::new("day", DataType::Date).key(),
        ColumnSchema::new("degrees", DataType::Double).nullable(),
    ])?;
    let name = format!("quickstart_{}", std::process::id());
    let table = client.create_table(&name, &schema).hash_partitions(["city"], 4).replicas(1).create().await?;

    let session = client.new_session();
    for day in 0..365 {
        let mut row = table.row();
        row.set("city", "Oslo")?.set("day", Value::Date(20_000 + day))?.set("degrees", f64::from(day % 30))?;
        session.apply(table.upsert(row)).await?;
    }
    let flushed = session.flush().await;
    println!("{} rows written, {} refused", flushed.written, flushed.errors.len());
    for e in flushed.errors {
        println!("{:?}: {}", e.operation.row(), e.error);
    }

    let mut scan = table.scan().project(["day", "degrees"]).predicate(Predicate::gt("degrees", 28.0)).build()?;
    while let Some(batch) = scan.next().await {
        println!("{} warm days", batch?.num_rows());
    }

    let lookup = table.lookup().project(["degrees"]).build()?;
    let found = lookup.get([vec!["Oslo".into(), Value::Date(20_007)]]).await?;
    println!("{:?}", found[0].column(0));
    client.delete_table(&name).await
}
