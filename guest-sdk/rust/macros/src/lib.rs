//! The attributes of `wasmill-guest`. They read a function's signature from its tokens by hand and need no other
//! crate, so that a plugin builds offline.

mod signature;

use proc_macro::{Group, Span, TokenStream, TokenTree};
use signature::{Parameter, Role, Signature};

/// Makes a function a scalar function of the plugin. See the documentation of `wasmill-guest`.
///
/// `#[scalar(name = "...")]` gives it another name than the function's, `#[scalar(nondeterministic)]` tells the
/// planner that equal arguments may give different results.
#[proc_macro_attribute]
pub fn scalar(attributes: TokenStream, item: TokenStream) -> TokenStream {
    expand(attributes, item, scalar_process)
}

/// Makes a function a formatter of the plugin: `fn(row: &Row, config: &Config) -> String`, or `Vec<u8>`, or an
/// `Option` (None: no record) or `Result` of these.
#[proc_macro_attribute]
pub fn formatter(attributes: TokenStream, item: TokenStream) -> TokenStream {
    expand(attributes, item, formatter_process)
}

/// Makes a function a decoder of the plugin: `fn(record: &[u8], rows: &mut Rows, config: &Config)`, where the record may
/// also be `&str` or an `Option` (None: it has no value), and the result `()` or a `Result<(), E>`.
#[proc_macro_attribute]
pub fn decoder(attributes: TokenStream, item: TokenStream) -> TokenStream {
    expand(attributes, item, decoder_process)
}

/// What differs between the kinds: the members `kind`, `arguments`, `result` and `process` of the description.
type Members = fn(&Signature) -> Result<String, String>;

fn expand(attributes: TokenStream, item: TokenStream, members: Members) -> TokenStream {
    let generated = Signature::parse(item.clone())
        .and_then(|signature| Ok((describe(&signature, attributes, members)?, signature.span)));
    let mut out = item;
    match generated {
        Ok((code, span)) => out.extend(at(&code, span)),
        Err(message) => out.extend(at(&format!("::core::compile_error!({message:?});"), Span::call_site())),
    }
    out
}

/// Code whose errors point at the user's function.
fn at(code: &str, span: Span) -> TokenStream {
    fn respan(tokens: TokenStream, span: Span) -> TokenStream {
        let one = |token| {
            let mut token = match token {
                TokenTree::Group(g) => TokenTree::Group(Group::new(g.delimiter(), respan(g.stream(), span))),
                other => other,
            };
            token.set_span(span);
            token
        };
        tokens.into_iter().map(one).collect()
    }
    match code.parse() {
        Ok(tokens) => respan(tokens, span.resolved_at(Span::call_site())),
        Err(e) => format!("::core::compile_error!({:?});", e.to_string()).parse().unwrap_or_default(),
    }
}

// Names of the generated code begin with `__wasmill_`: a user's function may be called `row` or `answer`.
fn describe(signature: &Signature, attributes: TokenStream, members: Members) -> Result<String, String> {
    let mut name = format!("{:?}", signature.name);
    let mut deterministic = true;
    for option in signature::split_at_commas(attributes) {
        let words: Vec<String> = option.iter().map(ToString::to_string).collect();
        match &words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["name", "=", literal] if literal.starts_with('"') => name = literal.to_string(),
            ["nondeterministic"] => deterministic = false,
            other => {
                return Err(format!(
                    "unknown option `{}`; name = \"..\" and nondeterministic are known",
                    other.concat()
                ));
            }
        }
    }
    let members = members(signature)?;
    Ok(format!(
        r#"const _: () = {{
            use ::wasmill_guest::__private as __wasmill_sdk;
            static __WASMILL_FUNCTION: __wasmill_sdk::Function = __wasmill_sdk::Function {{
                plugin: ::core::env!("CARGO_PKG_NAME"),
                version: ::core::env!("CARGO_PKG_VERSION"),
                name: {name},
                deterministic: {deterministic},
                {members}
            }};
            // The linker gathers these pointers; `_initialize` of the SDK calls them.
            #[cfg(target_arch = "wasm32")]
            #[used]
            #[unsafe(link_section = ".init_array")]
            static __WASMILL_REGISTER: extern "C" fn() = {{
                extern "C" fn __wasmill_register() {{
                    __wasmill_sdk::register(&__WASMILL_FUNCTION);
                }}
                __wasmill_register
            }};
            #[cfg(not(target_arch = "wasm32"))]
            #[allow(dead_code)]
            fn __wasmill_unused() -> &'static __wasmill_sdk::Function {{
                &__WASMILL_FUNCTION
            }}
        }};"#
    ))
}

fn scalar_process(signature: &Signature) -> Result<String, String> {
    let parameters = &signature.parameters;
    if let Some(rows) = parameters.iter().find(|p| p.role == Role::Rows) {
        return Err(format!("`{}`: only a decoder fills `Rows`", rows.name));
    }
    let arguments: Vec<&Parameter> = parameters.iter().filter(|p| p.role == Role::Argument).collect();
    let writers: Vec<&Parameter> = parameters.iter().filter(|p| p.role == Role::Text).collect();
    let sql: String = arguments.iter().map(|p| format!("<{} as __wasmill_sdk::Arg>::sql(),", p.ty)).collect();
    let mut index = 0;
    let values: Vec<String> = parameters
        .iter()
        .map(|p| match p.role {
            Role::Config => "__wasmill_input.config".to_string(),
            // Refused above.
            Role::Rows => String::new(),
            Role::Text => format!("&mut __wasmill_writer_{}.text()", p.name),
            Role::Argument => {
                index += 1;
                format!("__wasmill_value_{}", index - 1)
            }
        })
        .collect();
    let call = format!("{}({})", signature.name, values.join(", "));
    let readers: String = arguments
        .iter()
        .enumerate()
        .map(|(i, p)| {
            let ty = &p.ty;
            format!("let __wasmill_reader_{i} = <{ty} as __wasmill_sdk::Arg>::reader(&__wasmill_input.columns[{i}], __wasmill_input.rows);")
        })
        .collect();
    let required: String = arguments.iter().map(|p| format!("<{} as __wasmill_sdk::Arg>::REQUIRED,", p.ty)).collect();
    let reads: String = arguments
        .iter()
        .enumerate()
        .map(|(i, p)| {
            let ty = &p.ty;
            format!(
                "let __wasmill_value_{i} = <{ty} as __wasmill_sdk::Arg>::read(&__wasmill_reader_{i}, __wasmill_row);"
            )
        })
        .collect();
    let (column, result, step) = if writers.is_empty() {
        let ty = &signature.result;
        (
            format!("<{ty} as __wasmill_sdk::Ret>::Column"),
            format!("<{ty} as __wasmill_sdk::Ret>::sql()"),
            format!("__wasmill_sdk::Ret::put({call}, &mut __wasmill_column, __wasmill_row, &mut __wasmill_errors)"),
        )
    } else {
        let count = writers.len();
        let names: String = writers.iter().map(|p| format!("{:?},", p.name)).collect();
        let split: String = writers.iter().map(|p| format!("__wasmill_writer_{},", p.name)).collect();
        (
            format!("__wasmill_sdk::TextColumns<{count}>"),
            format!("__wasmill_sdk::text_columns_sql(&[{names}])"),
            format!(
                "let [{split}] = &mut __wasmill_column.columns; let __wasmill_outcome = __wasmill_sdk::Written::outcome({call}); __wasmill_column.end(__wasmill_row, __wasmill_outcome, &mut __wasmill_errors)"
            ),
        )
    };
    Ok(format!(
        r#"kind: __wasmill_sdk::Kind::Scalar,
        arguments: || [{sql}].into_iter().collect(),
        result: || {result},
        process: |__wasmill_input, __wasmill_answer| {{
            let mut __wasmill_kept = __wasmill_answer.column::<{column}>(__wasmill_input.rows, __wasmill_input.bytes());
            // On the stack the loop's pointers can stay in registers.
            let mut __wasmill_column = ::core::mem::take(&mut *__wasmill_kept);
            let mut __wasmill_errors = __wasmill_sdk::RowErrors::default();
            let __wasmill_skipped = __wasmill_sdk::Skipped::of(__wasmill_input.columns, &[{required}]);
            {readers}
            for __wasmill_row in 0..__wasmill_input.rows {{
                if __wasmill_skipped.contains(__wasmill_row) {{
                    __wasmill_sdk::OutColumn::set_null(&mut __wasmill_column, __wasmill_row);
                    continue;
                }}
                {reads}
                {step};
            }}
            *__wasmill_kept = __wasmill_column;
            __wasmill_answer.finish(__wasmill_kept, &__wasmill_errors)
        }},"#
    ))
}

fn formatter_process(signature: &Signature) -> Result<String, String> {
    let ty = &signature.result;
    let call = match &signature.parameters[..] {
        [_] => format!("{}(&__wasmill_row)", signature.name),
        [_, config] if config.role == Role::Config => {
            format!("{}(&__wasmill_row, __wasmill_input.config)", signature.name)
        }
        _ => return Err("a formatter takes `row: &Row`, and `config: &Config` if it wants it".into()),
    };
    Ok(format!(
        r#"kind: __wasmill_sdk::Kind::Formatter,
        arguments: || [].into_iter().collect(),
        result: || ::core::default::Default::default(),
        process: |__wasmill_input, __wasmill_answer| {{
            let mut __wasmill_kept = __wasmill_answer.column::<__wasmill_sdk::BytesColumn>(__wasmill_input.rows, __wasmill_input.bytes());
            // On the stack the loop's pointers can stay in registers.
            let mut __wasmill_column = ::core::mem::take(&mut *__wasmill_kept);
            let mut __wasmill_errors = __wasmill_sdk::RowErrors::default();
            for __wasmill_index in 0..__wasmill_input.rows {{
                let __wasmill_row = __wasmill_input.row(__wasmill_index);
                <{ty} as __wasmill_sdk::Record>::put({call}, &mut __wasmill_column, __wasmill_index, &mut __wasmill_errors);
            }}
            *__wasmill_kept = __wasmill_column;
            __wasmill_answer.finish(__wasmill_kept, &__wasmill_errors)
        }},"#
    ))
}

fn decoder_process(signature: &Signature) -> Result<String, String> {
    let wants = "a decoder takes `record: &[u8]` or `&str`, `rows: &mut Rows`, and `config: &Config` if it wants it";
    let (record, call) = match &signature.parameters[..] {
        [record, rows] if rows.role == Role::Rows => (record, "__wasmill_record, __wasmill_rows"),
        [record, rows, config] if rows.role == Role::Rows && config.role == Role::Config => {
            (record, "__wasmill_record, __wasmill_rows, __wasmill_config")
        }
        _ => return Err(wants.into()),
    };
    let (name, ty) = (&signature.name, &record.ty);
    Ok(format!(
        r#"kind: __wasmill_sdk::Kind::Decoder,
        arguments: || [].into_iter().collect(),
        result: || ::core::default::Default::default(),
        process: |__wasmill_input, __wasmill_answer| {{
            let mut __wasmill_decoding = __wasmill_sdk::Decoding::new(__wasmill_input);
            for __wasmill_index in 0..__wasmill_input.rows {{
                __wasmill_decoding.record(__wasmill_index, |__wasmill_record, __wasmill_rows, __wasmill_config| {{
                    let __wasmill_record = <{ty} as __wasmill_sdk::RecordArg>::from_record(__wasmill_record)?;
                    __wasmill_sdk::DecodeOutcome::outcome({name}({call}))
                }});
            }}
            __wasmill_answer.finish_rows(&__wasmill_decoding)
        }},"#
    ))
}
