//! The Avro schema that a table without one has, as Flink derives it.

use crate::data::{LogicalType, TableSchema};
use serde_json::{Value, json};

const NAMESPACE_AND_NAME: &str = "org.apache.flink.avro.generated.record";

/// The schema's text. `legacy`: TIMESTAMP is Avro's timestamp-millis, as in Flink before 1.19; else it is
/// local-timestamp and TIMESTAMP_LTZ is timestamp. The error names the column.
pub(super) fn derive(schema: &TableSchema, legacy: bool) -> Result<String, String> {
    let mut fields = Vec::with_capacity(schema.columns.len());
    for c in &schema.columns {
        let name = format!("{NAMESPACE_AND_NAME}_{}", c.name);
        let ty = of(&c.logical_type, &name, legacy).map_err(|e| format!("column {}: {e}", c.name))?;
        fields.push(field(&c.name, ty, c.nullable)?);
    }
    Ok(json!({"type": "record", "name": "record", "namespace": "org.apache.flink.avro.generated", "fields": fields})
        .to_string())
}

fn field(name: &str, ty: Value, nullable: bool) -> Result<Value, String> {
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !starts_well || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(format!("'{name}' cannot be a name in Avro: letters, digits and _, no digit first"));
    }
    Ok(match nullable {
        true => json!({"name": name, "type": ["null", ty], "default": null}),
        false => json!({"name": name, "type": ty}),
    })
}

fn nullable(ty: Value) -> Value {
    json!(["null", ty])
}

fn of(ty: &LogicalType, name: &str, legacy: bool) -> Result<Value, String> {
    use LogicalType as T;
    let logical = |base: &str, logical: &str| json!({"type": base, "logicalType": logical});
    let too_fine = |max: u8| Err(format!("Avro has no {ty}, at most {max} digits of a second"));
    Ok(match ty {
        T::Boolean => json!("boolean"),
        T::TinyInt | T::SmallInt | T::Int => json!("int"),
        T::BigInt => json!("long"),
        T::Float => json!("float"),
        T::Double => json!("double"),
        T::Char(_) | T::Varchar(_) => json!("string"),
        T::Binary(_) | T::Varbinary(_) => json!("bytes"),
        T::Decimal(p, s) => json!({"type": "bytes", "logicalType": "decimal", "precision": p, "scale": s}),
        T::Date => logical("int", "date"),
        T::Time(0..=3) => logical("int", "time-millis"),
        T::Time(_) => return too_fine(3),
        T::Timestamp(0..=3) if legacy => logical("long", "timestamp-millis"),
        T::Timestamp(_) if legacy => {
            return Err(format!(
                "Avro has no {ty} with timestamp_mapping.legacy = true, at most 3 digits of a second; set it to false"
            ));
        }
        T::TimestampLtz(_) if legacy => {
            return Err(format!("Avro has no {ty} with timestamp_mapping.legacy = true; set it to false"));
        }
        T::Timestamp(0..=3) => logical("long", "local-timestamp-millis"),
        T::Timestamp(4..=6) => logical("long", "local-timestamp-micros"),
        T::TimestampLtz(0..=3) => logical("long", "timestamp-millis"),
        T::TimestampLtz(4..=6) => logical("long", "timestamp-micros"),
        T::Timestamp(_) | T::TimestampLtz(_) => return too_fine(6),
        T::Array(item) => json!({"type": "array", "items": nullable(of(item, name, legacy)?)}),
        T::Map(key, _) if !key.is_text() => return Err(format!("Avro has no {ty}: the keys of its maps are text")),
        T::Map(_, value) => json!({"type": "map", "values": nullable(of(value, name, legacy)?)}),
        T::Row(members) => {
            let mut fields = Vec::with_capacity(members.len());
            for (member, ty) in members {
                let inner = of(ty, &format!("{name}_{member}"), legacy).map_err(|e| format!("{member}: {e}"))?;
                fields.push(field(member, inner, true)?);
            }
            json!({"type": "record", "name": name, "fields": fields})
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Column;
    use LogicalType as T;

    #[test]
    fn a_tables_schema_is_flinks() {
        let row = T::Row(vec![("x".into(), T::Int)]);
        let columns = vec![
            Column::new("id", T::BigInt, false),
            Column::new("at", T::Timestamp(3), true),
            Column::new("r", T::Array(Box::new(row)), true),
        ];
        let text = derive(&TableSchema::new(columns), true).unwrap();
        let expected = json!({
            "type": "record", "name": "record", "namespace": "org.apache.flink.avro.generated",
            "fields": [
                {"name": "id", "type": "long"},
                {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}], "default": null},
                {"name": "r", "default": null, "type": ["null", {"type": "array", "items": ["null", {
                    "type": "record", "name": "org.apache.flink.avro.generated.record_r",
                    "fields": [{"name": "x", "type": ["null", "int"], "default": null}]}]}]},
            ]
        });
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
    }

    #[test]
    fn what_avro_cannot_hold_names_its_column() {
        let refused =
            |t: T, legacy: bool| derive(&TableSchema::new(vec![Column::new("c", t, true)]), legacy).unwrap_err();
        assert!(
            refused(T::Timestamp(6), true).starts_with("column c: Avro has no TIMESTAMP(6) with timestamp_mapping")
        );
        assert!(refused(T::TimestampLtz(3), true).contains("set it to false"));
        assert!(refused(T::Timestamp(9), false).contains("at most 6 digits"));
        assert!(refused(T::Time(6), true).contains("at most 3 digits"));
        assert!(refused(T::Map(Box::new(T::Int), Box::new(T::Int)), true).contains("keys of its maps are text"));
        let odd = TableSchema::new(vec![Column::new("a-b", T::Int, true)]);
        assert!(derive(&odd, true).unwrap_err().contains("'a-b' cannot be a name in Avro"));
    }
}
