//! The vectors of guest-sdk/conformance: what is written there is what this crate reads and writes.
//!
//! `UPDATE_VECTORS=1 cargo test -p wasmill-abi --test conformance` fills in the hex of new vectors; a change of an
//! old one is a change of the ABI.

use serde_json::{Value as Json, json};
use std::path::PathBuf;
use wasmill_abi::value::{Value, decode_rows, encode_answer, encode_rows};
use wasmill_abi::{Frame, Schema, Type};

fn vectors() -> Vec<(PathBuf, Json)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../conformance");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "json"))
        .collect();
    files.sort();
    files
        .into_iter()
        .map(|p| (p.clone(), serde_json::from_str(&std::fs::read_to_string(p).unwrap()).unwrap()))
        .collect()
}

fn schema_of(vector: &Json) -> Schema {
    match vector["schema"].as_str().unwrap().parse().unwrap() {
        Type::Row(fields) => Schema::new(fields).unwrap(),
        other => panic!("schema {other} is no ROW"),
    }
}

fn value(ty: &Type, v: &Json) -> Value {
    let list = || v.as_array().unwrap().iter();
    match (ty, v) {
        (_, Json::Null) => Value::Null,
        (Type::Boolean, _) => Value::Bool(v.as_bool().unwrap()),
        (Type::Float, _) => Value::Float(v.as_f64().unwrap() as f32),
        (Type::Double, _) => Value::Double(v.as_f64().unwrap()),
        (Type::Decimal { .. }, _) => Value::Decimal(v.as_str().unwrap().parse().unwrap()),
        (Type::Char(_) | Type::Varchar(_), _) => Value::Text(v.as_str().unwrap().to_string()),
        (Type::Binary(_) | Type::Varbinary(_), _) => Value::Bytes(from_hex(v.as_str().unwrap())),
        (Type::Array(item), _) => Value::List(list().map(|x| value(&item.ty, x)).collect()),
        (Type::Map(kv), _) => Value::Map(list().map(|e| (value(&kv.0.ty, &e[0]), value(&kv.1.ty, &e[1]))).collect()),
        (Type::Row(fields), _) => Value::Row(fields.iter().zip(list()).map(|(f, x)| value(&f.ty, x)).collect()),
        _ => Value::Int(v.as_i64().unwrap()),
    }
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// 16 bytes a line.
fn to_hex(bytes: &[u8]) -> Json {
    let line = |b: &[u8]| b.iter().map(|x| format!("{x:02x}")).collect::<Vec<_>>().join(" ");
    Json::Array(bytes.chunks(16).map(|b| json!(line(b))).collect())
}

fn hex_of(vector: &Json, member: &str) -> Vec<u8> {
    from_hex(&vector[member].as_array().unwrap().iter().map(|l| l.as_str().unwrap()).collect::<Vec<_>>().join(" "))
}

fn written(vector: &Json) -> (Schema, Vec<Vec<Value>>, Vec<u8>) {
    let schema = schema_of(vector);
    let rows: Vec<Vec<Value>> = vector["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| schema.fields().iter().zip(r.as_array().unwrap()).map(|(f, v)| value(&f.ty, v)).collect())
        .collect();
    let errors: Vec<(u32, String)> = vector["row_errors"]
        .as_array()
        .map(|errors| {
            errors.iter().map(|e| (e[0].as_u64().unwrap() as u32, e[1].as_str().unwrap().to_string())).collect()
        })
        .unwrap_or_default();
    let sources: Option<Vec<u32>> =
        vector["source_rows"].as_array().map(|s| s.iter().map(|r| r.as_u64().unwrap() as u32).collect());
    let frame = match &sources {
        Some(sources) => encode_answer(&schema, &rows, sources, &errors).unwrap(),
        None => encode_rows(&schema, &rows, &errors).unwrap(),
    };
    assert_eq!(Frame::parse(&frame).unwrap().source_rows(1000).unwrap(), sources);
    (schema, rows, frame)
}

#[test]
fn good_vectors_are_written_and_read_as_printed() {
    let update = std::env::var_os("UPDATE_VECTORS").is_some();
    let mut seen = 0;
    for (path, mut vector) in vectors().into_iter().filter(|(_, v)| v["rows"].is_array()) {
        let (schema, rows, frame) = written(&vector);
        if update && vector["frame"].is_null() {
            vector["schema_block"] = to_hex(schema.bytes());
            vector["frame"] = to_hex(&frame);
            std::fs::write(&path, serde_json::to_string_pretty(&vector).unwrap() + "\n").unwrap();
        }
        let name = path.display();
        assert_eq!(hex_of(&vector, "schema_block"), schema.bytes(), "{name}");
        assert_eq!(hex_of(&vector, "frame"), frame, "{name}");
        assert_eq!(Schema::parse(schema.bytes()).unwrap(), schema, "{name}");
        for base in 0..8 {
            let mut shifted = vec![0xa5; base];
            shifted.extend_from_slice(&frame);
            assert_eq!(decode_rows(&schema, &shifted[base..]).unwrap(), rows, "{name} at base {base}");
        }
        seen += 1;
    }
    assert!(seen >= 9, "{seen} vectors");
}

#[test]
fn bad_vectors_are_refused_for_the_stated_reason() {
    let mut seen = 0;
    for (path, vector) in vectors().into_iter().filter(|(_, v)| v["refused"].is_string()) {
        let schema = schema_of(&vector);
        let bytes = hex_of(&vector, "frame");
        let error = match decode_rows(&schema, &bytes) {
            Err(e) => e,
            Ok(rows) => Frame::parse(&bytes).unwrap().row_errors(rows.len()).expect_err(&path.display().to_string()),
        };
        assert_eq!(error.to_string(), vector["refused"].as_str().unwrap(), "{}", path.display());
        seen += 1;
    }
    assert!(seen >= 8, "{seen} vectors");
}
