//! Reads `fn name(a: T, b: U) -> R` from tokens.

use proc_macro::{Delimiter, Span, TokenStream, TokenTree};

pub struct Signature {
    pub name: String,
    pub span: Span,
    pub parameters: Vec<Parameter>,
    /// `()` when nothing is written.
    pub result: String,
}

pub struct Parameter {
    pub name: String,
    pub ty: String,
    pub role: Role,
}

#[derive(PartialEq)]
pub enum Role {
    /// A value of the row.
    Argument,
    /// `&mut Text`: part of the result.
    Text,
    /// `&mut Rows`: what a decoder fills.
    Rows,
    /// `&Config`
    Config,
}

impl Signature {
    pub fn parse(item: TokenStream) -> Result<Signature, String> {
        let mut tokens = item.into_iter().peekable();
        // Attributes and visibility come before `fn`.
        for token in tokens.by_ref() {
            match &token {
                TokenTree::Ident(word) if word.to_string() == "fn" => break,
                TokenTree::Ident(word) if word.to_string() == "pub" => {}
                TokenTree::Punct(p) if p.as_char() == '#' => {}
                TokenTree::Group(_) => {}
                other => return Err(format!("a plain function is needed here, found `{other}`")),
            }
        }
        let Some(TokenTree::Ident(name)) = tokens.next() else { return Err("a function is needed here".into()) };
        let parameters = match tokens.next() {
            Some(TokenTree::Group(g)) if g.delimiter() == Delimiter::Parenthesis => g.stream(),
            _ => return Err(format!("`{name}` cannot be generic; lifetimes may be left out")),
        };
        let parameters =
            split_at_commas(parameters).into_iter().map(Parameter::parse).collect::<Result<Vec<_>, _>>()?;
        let mut result = TokenStream::new();
        for token in tokens {
            match token {
                TokenTree::Group(g) if g.delimiter() == Delimiter::Brace => break,
                TokenTree::Ident(word) if word.to_string() == "where" => return Err("no where clause here".into()),
                other => result.extend([other]),
            }
        }
        let result = result.to_string();
        let result = result.trim_start().trim_start_matches("->").trim();
        let result = if result.is_empty() { "()".to_string() } else { result.to_string() };
        Ok(Signature { name: name.to_string(), span: name.span(), parameters, result })
    }
}

impl Parameter {
    fn parse(tokens: Vec<TokenTree>) -> Result<Parameter, String> {
        let is_colon = |t: &TokenTree| matches!(t, TokenTree::Punct(p) if p.as_char() == ':');
        let Some(colon) = tokens.iter().position(is_colon) else {
            return Err("methods cannot be plugin functions, and every parameter needs a type".into());
        };
        let name = match tokens[..colon].last() {
            Some(TokenTree::Ident(name)) => name.to_string(),
            _ => return Err("a parameter needs a plain name".into()),
        };
        let ty = tokens[colon + 1..].iter().cloned().collect::<TokenStream>().to_string();
        let role = match last_segment(&ty) {
            Some((true, "Text")) => Role::Text,
            Some((true, "Rows")) => Role::Rows,
            Some((false, "Config")) => Role::Config,
            _ => Role::Argument,
        };
        Ok(Parameter { name, ty, role })
    }
}

/// Of a reference `&a::b::C<'_>` or `&mut ..`: whether it is `mut`, and `C`.
fn last_segment(ty: &str) -> Option<(bool, &str)> {
    let ty = ty.trim().strip_prefix('&')?.trim_start();
    let (mutable, path) = match ty.strip_prefix("mut ") {
        Some(path) => (true, path),
        None => (false, ty),
    };
    let path = path.split('<').next().unwrap_or_default();
    Some((mutable, path.rsplit(':').next().unwrap_or_default().trim()))
}

/// Splits at commas that are not inside `<>`; groups are single tokens anyway.
pub fn split_at_commas(tokens: TokenStream) -> Vec<Vec<TokenTree>> {
    let (mut parts, mut part, mut depth) = (Vec::new(), Vec::new(), 0);
    let mut after_minus = false;
    for token in tokens {
        if let TokenTree::Punct(p) = &token {
            match p.as_char() {
                '<' => depth += 1,
                '>' if !after_minus => depth -= 1,
                ',' if depth == 0 => {
                    parts.push(std::mem::take(&mut part));
                    after_minus = false;
                    continue;
                }
                _ => {}
            }
            after_minus = p.as_char() == '-';
        } else {
            after_minus = false;
        }
        part.push(token);
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}
