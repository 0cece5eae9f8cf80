//! A user's scalar function as DataFusion sees it: while planning only its types, in a compiled expression an
//! instance of its own.

use super::errors;
use super::function::{BoundCall, ScalarFunction, ScalarInstance};
use crate::data::{FailurePolicy, RowError};
use arrow::array::{Array, ArrayRef, AsArray, UInt32Array};
use arrow::datatypes::{DataType, UInt32Type};
use datafusion_common::{DataFusionError, Result, exec_err, internal_err, plan_err};
use datafusion_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex};

/// The function as the SQL planner resolves it. Compiled expressions replace it by an instance.
pub fn user_function(function: Arc<dyn ScalarFunction>) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::from(UserFunction::new(function)))
}

/// The declaration.
#[derive(Debug)]
pub(super) struct UserFunction {
    function: Arc<dyn ScalarFunction>,
    signature: Signature,
}

impl UserFunction {
    fn new(function: Arc<dyn ScalarFunction>) -> Self {
        let volatility = if function.deterministic() { Volatility::Immutable } else { Volatility::Volatile };
        Self { function, signature: Signature::user_defined(volatility) }
    }

    /// An instance for one call in one task; `args` are the types of its arguments (without the row number).
    pub fn instantiate(&self, args: &[DataType]) -> crate::error::Result<ScalarUDF> {
        let name = self.function.name().to_string();
        let call = self.function.bind(args).map_err(|m| crate::error::Error::user(format!("function {name}: {m}")))?;
        if call.args != args {
            return Err(crate::error::Error::internal(format!("function {name} was compiled without its casts")));
        }
        let instance = Mutex::new(self.function.instantiate(&call)?);
        let mut types = call.args.clone();
        types.push(DataType::UInt32);
        let signature = Signature::exact(types, self.signature.volatility);
        let policy = self.function.on_error();
        Ok(ScalarUDF::from(Instance { name, call, policy, instance, signature }))
    }
}

pub(super) fn as_user_function(udf: &ScalarUDF) -> Option<&UserFunction> {
    udf.inner().downcast_ref::<UserFunction>()
}

impl PartialEq for UserFunction {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.function, &other.function)
    }
}

impl Eq for UserFunction {}

impl Hash for UserFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.function.name().hash(state);
    }
}

impl ScalarUDFImpl for UserFunction {
    fn name(&self) -> &str {
        self.function.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match self.function.bind(types) {
            Ok(call) => Ok(call.args),
            Err(message) => plan_err!("{}: {message}", self.function.name()),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match self.function.bind(types) {
            Ok(call) => Ok(call.returns),
            Err(message) => plan_err!("{}: {message}", self.function.name()),
        }
    }

    /// Only constant folding comes here; it leaves the call as it is then.
    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        exec_err!("{} is not evaluated at plan time", self.function.name())
    }
}

/// A running instance at one place of an expression; the last argument is the row number.
struct Instance {
    name: String,
    call: BoundCall,
    policy: Option<FailurePolicy>,
    /// Never contended: expressions are compiled per task.
    instance: Mutex<Box<dyn ScalarInstance>>,
    signature: Signature,
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Each instance is itself only: two calls never share one.
impl PartialEq for Instance {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Instance {}

impl Hash for Instance {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for Instance {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.call.returns.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some((ColumnarValue::Array(ids), values)) = args.args.split_last() else {
            return internal_err!("{} has no row numbers", self.name);
        };
        let values = values.iter().map(|v| v.to_array(args.number_rows)).collect::<Result<Vec<_>>>()?;
        let result = self.run(&values, args.number_rows, ids.as_primitive::<UInt32Type>())?;
        Ok(ColumnarValue::Array(result))
    }
}

impl Instance {
    fn run(&self, values: &[ArrayRef], rows: usize, ids: &UInt32Array) -> Result<ArrayRef> {
        let mut refused = Vec::new();
        let mut instance = self.instance.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        // The host's own error passes through DataFusion unharmed, see `compile::into_error`.
        let result = instance.call(values, rows, &mut refused).map_err(|e| DataFusionError::External(Box::new(e)))?;
        if result.len() != rows || *result.data_type() != self.call.returns {
            return internal_err!(
                "{} answered {} values of type {} for {rows} rows of {}",
                self.name,
                result.len(),
                result.data_type(),
                self.call.returns
            );
        }
        // `null` means just that: the value is NULL already.
        if self.policy != Some(FailurePolicy::Null) {
            refused.into_iter().for_each(|e| self.report(e, ids));
        }
        Ok(result)
    }

    fn report(&self, error: RowError, ids: &UInt32Array) {
        if let Some(&row) = ids.values().get(error.row as usize) {
            let function = error.function.clone().unwrap_or_else(|| self.name.clone());
            errors::report(RowError { row, ..error }.function(function).policy(self.policy));
        }
    }
}
