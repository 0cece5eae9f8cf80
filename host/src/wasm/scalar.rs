//! Scalar functions: one value for one row.

use super::instance::PluginInstance;
use super::limits::{Limits, PluginConfig};
use super::manifest::{Function, Pattern};
use super::module::ModuleCore;
use super::rows::{Opening, RowRunner, Rows, encode_config};
use super::types::{from_wire, to_wire};
use crate::data::{FailurePolicy, LogicalType, RowError};
use crate::error::{Error, Result};
use crate::expr::function::{BoundCall, ScalarFunction, ScalarInstance};
use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use std::sync::Arc;
use wasmill_abi::{Bundle, Field, Schema};

/// A plugin's scalar function under its SQL name.
pub(super) struct ScalarPlugin {
    core: Arc<ModuleCore>,
    function: Function,
    sql_name: String,
    limits: Limits,
    on_error: Option<FailurePolicy>,
    config: PluginConfig,
}

impl std::fmt::Debug for ScalarPlugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ScalarPlugin({} = {})", self.sql_name, self.function.signature())
    }
}

impl ScalarPlugin {
    pub fn new(
        core: Arc<ModuleCore>,
        function: Function,
        sql_name: &str,
        limits: Limits,
        on_error: Option<FailurePolicy>,
        config: PluginConfig,
    ) -> ScalarPlugin {
        ScalarPlugin { core, function, sql_name: sql_name.into(), limits, on_error, config }
    }

    fn opening(&self, call: &BoundCall) -> std::result::Result<Opening, String> {
        let input = schema(call.args.iter().enumerate().map(|(i, ty)| (format!("arg{i}"), ty)))?;
        let output = schema([("result".to_string(), &call.returns)].into_iter())?;
        Opening::new(self.core.clone(), &self.function.name, &self.sql_name, self.limits, &self.config, input, output)
    }

    /// Asks the plugin for the types of a call with types that it left open.
    fn bind_generic(&self, args: &[DataType]) -> std::result::Result<BoundCall, String> {
        let given = schema(args.iter().enumerate().map(|(i, ty)| (format!("arg{i}"), ty)))?;
        let config = encode_config(&self.config)?;
        let mut instance = PluginInstance::start(&self.core, self.limits)?;
        let answer = instance.bind(&[self.function.name.as_bytes(), given.bytes(), &config])?;
        let parse = || {
            let bundle = Bundle::parse(&answer)?;
            Ok::<_, wasmill_abi::FrameError>((Schema::parse(bundle.part(0)?)?, Schema::parse(bundle.part(1)?)?))
        };
        let (arguments, result) = parse().map_err(|e| format!("wmbind: {e}"))?;
        if arguments.fields().len() != args.len() || result.fields().len() != 1 {
            let (n, m) = (arguments.fields().len(), result.fields().len());
            return Err(format!("wmbind: answered {n} arguments and {m} results for {} arguments", args.len()));
        }
        let arrow = |field: &Field| from_wire(&field.ty).to_arrow();
        Ok(BoundCall { args: arguments.fields().iter().map(arrow).collect(), returns: arrow(&result.fields()[0]) })
    }
}

/// A schema block of Arrow types.
fn schema<'a>(columns: impl Iterator<Item = (String, &'a DataType)>) -> std::result::Result<Schema, String> {
    let fields = columns
        .map(|(name, ty)| match LogicalType::from_arrow(ty) {
            Some(t) => Ok(Field::new(name, to_wire(&t), true)),
            None => Err(format!("{name}: {ty} has no place on the wire")),
        })
        .collect::<std::result::Result<_, _>>()?;
    Schema::new(fields).map_err(|e| e.to_string())
}

impl ScalarFunction for ScalarPlugin {
    fn name(&self) -> &str {
        &self.sql_name
    }

    fn bind(&self, args: &[DataType]) -> std::result::Result<BoundCall, String> {
        let args = self.function.bind_arguments(args)?;
        let call = match &self.function.result {
            Some(Pattern::Concrete(ty)) if !self.function.is_generic() => {
                BoundCall { args, returns: from_wire(ty).to_arrow() }
            }
            _ => self.bind_generic(&args)?,
        };
        // Opened once and thrown away: what the plugin says against its types or configuration belongs to submit.
        self.opening(&call)?.open().map_err(|e| format!("{}: {e}", self.function.name))?;
        Ok(call)
    }

    fn deterministic(&self) -> bool {
        self.function.deterministic
    }

    fn on_error(&self) -> Option<FailurePolicy> {
        self.on_error
    }

    fn instantiate(&self, call: &BoundCall) -> Result<Box<dyn ScalarInstance>> {
        let opening = self.opening(call).map_err(|e| Error::user(format!("function {}: {e}", self.sql_name)))?;
        Ok(Box::new(ScalarRunner(RowRunner::new(Arc::new(opening))?)))
    }
}

struct ScalarRunner(RowRunner);

impl ScalarInstance for ScalarRunner {
    fn call(&mut self, args: &[ArrayRef], rows: usize, errors: &mut Vec<RowError>) -> Result<ArrayRef> {
        self.0.run(&Rows { columns: args, kinds: None, len: rows }, errors)
    }
}
