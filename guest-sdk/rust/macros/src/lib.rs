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
            use ::wasmill_guest::__private as sdk;
            static FUNCTION: sdk::Function = sdk::Function {{
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
            static REGISTER: extern "C" fn() = {{
                extern "C" fn register() {{
                    sdk::register(&FUNCTION);
                }}
                register
            }};
            #[cfg(not(target_arch = "wasm32"))]
            #[allow(dead_code)]
            fn unused() -> &'static sdk::Function {{
                &FUNCTION
            }}
        }};"#
    ))
}

fn scalar_process(signature: &Signature) -> Result<String, String> {
    let parameters = &signature.parameters;
    let arguments: Vec<&Parameter> = parameters.iter().filter(|p| p.role == Role::Argument).collect();
    let writers: Vec<&Parameter> = parameters.iter().filter(|p| p.role == Role::Text).collect();
    let sql: String = arguments.iter().map(|p| format!("<{} as sdk::Arg>::sql(),", p.ty)).collect();
    let mut index = 0;
    let values: Vec<String> = parameters
        .iter()
        .map(|p| match p.role {
            Role::Config => "input.config".to_string(),
            Role::Text => format!("&mut writer_{}.text()", p.name),
            Role::Argument => {
                index += 1;
                format!("value_{}", index - 1)
            }
        })
        .collect();
    let call = format!("{}({})", signature.name, values.join(", "));
    let patterns: String = (0..arguments.len()).map(|i| format!("Some(value_{i}),")).collect();
    let gets: String = arguments
        .iter()
        .enumerate()
        .map(|(i, p)| format!("<{} as sdk::Arg>::get(&input.columns[{i}], row),", p.ty))
        .collect();
    let (column, result, step) = if writers.is_empty() {
        let ty = &signature.result;
        (
            format!("<{ty} as sdk::Ret>::Column"),
            format!("<{ty} as sdk::Ret>::sql()"),
            format!("sdk::Ret::put({call}, &mut column, &mut errors)"),
        )
    } else {
        let count = writers.len();
        let names: String = writers.iter().map(|p| format!("{:?},", p.name)).collect();
        let split: String = writers.iter().map(|p| format!("writer_{},", p.name)).collect();
        (
            format!("sdk::TextColumns<{count}>"),
            format!("sdk::text_columns_sql(&[{names}])"),
            format!(
                "let [{split}] = &mut column.columns; let outcome = sdk::Written::outcome({call}); column.end(outcome, &mut errors)"
            ),
        )
    };
    // Without arguments there is nothing that could be NULL.
    let bind = if arguments.is_empty() {
        String::new()
    } else {
        format!("let ({patterns}) = ({gets}) else {{ sdk::OutColumn::push_null(&mut column); continue; }};")
    };
    Ok(format!(
        r#"kind: sdk::Kind::Scalar,
        arguments: || [{sql}].into_iter().collect(),
        result: || {result},
        process: |input, answer| {{
            let mut column = <{column} as sdk::OutColumn>::with_capacity(input.rows, input.bytes());
            let mut errors = sdk::RowErrors::default();
            for row in 0..input.rows {{
                errors.at(row);
                {bind}
                {step};
            }}
            answer.finish(&column, &errors)
        }},"#
    ))
}

fn formatter_process(signature: &Signature) -> Result<String, String> {
    let ty = &signature.result;
    let call = match &signature.parameters[..] {
        [_] => format!("{}(&row)", signature.name),
        [_, config] if config.role == Role::Config => format!("{}(&row, input.config)", signature.name),
        _ => return Err("a formatter takes `row: &Row`, and `config: &Config` if it wants it".into()),
    };
    Ok(format!(
        r#"kind: sdk::Kind::Formatter,
        arguments: || [].into_iter().collect(),
        result: || ::core::default::Default::default(),
        process: |input, answer| {{
            let mut column = <sdk::BytesColumn as sdk::OutColumn>::with_capacity(input.rows, input.bytes());
            let mut errors = sdk::RowErrors::default();
            for index in 0..input.rows {{
                errors.at(index);
                let row = input.row(index);
                <{ty} as sdk::Record>::put({call}, &mut column, &mut errors);
            }}
            answer.finish(&column, &errors)
        }},"#
    ))
}
