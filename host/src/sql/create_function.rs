//! CREATE FUNCTION in Flink's and flinkStreamSQL's forms.

use super::ast::{CreateFunction, FunctionKind, FunctionSource, WithOptions};
use super::codes;
use super::cursor::{JobParser, Parsed};
use crate::diagnostic::{Diagnostic, Span};
use sqlparser::tokenizer::Token;

pub(crate) const PLUGIN_HINT: &str = "functions are WebAssembly plugins: declare it AS 'exported name' LANGUAGE WASM \
    USING 'path.wasm', or map the class name in plugins.toml; `wasmill plugin new` makes a project for a plugin";

impl JobParser<'_> {
    /// After `CREATE [TEMPORARY [SYSTEM]] [SCALA | SCALAR | TABLE | AGGREGATE] FUNCTION`.
    pub fn create_function(&mut self, kind: FunctionKind) -> Parsed<CreateFunction> {
        let if_not_exists = self.eat_words(&["IF", "NOT", "EXISTS"]).is_some();
        let path = self.object_path("a function name")?;
        let (qualifier, name) = (path.qualifier, path.name);
        let source = if self.is_word(0, "WITH") { self.class_after_with()? } else { self.source_after_as()? };
        let options = match self.eat_words(&["WITH"]) {
            Some(with) => self.with_options(with)?,
            None => WithOptions { entries: Vec::new(), span: name.span },
        };
        self.expect_end()?;
        Ok(CreateFunction { qualifier, name, if_not_exists, kind, source, options, span: self.whole() })
    }

    /// flinkStreamSQL: `WITH a.b.C`
    fn class_after_with(&mut self) -> Parsed<FunctionSource> {
        self.advance();
        if matches!(self.token(0), Token::SingleQuotedString(_)) {
            let (class, span) = self.string("a class name")?;
            return Ok(FunctionSource::Class { class, span });
        }
        if *self.token(0) == Token::LParen {
            return Err(self.unexpected("a class name").hint(PLUGIN_HINT));
        }
        let name = self.dotted_name("a class name")?;
        Ok(FunctionSource::Class { class: name.value, span: name.span })
    }

    /// `AS 'name' [LANGUAGE WASM USING 'path']`
    fn source_after_as(&mut self) -> Parsed<FunctionSource> {
        if !self.is_word(0, "AS") {
            return Err(self.unexpected("AS 'name' or WITH a.b.Class").hint(PLUGIN_HINT));
        }
        self.advance();
        let (text, text_span) = self.string("the function's name in quotes")?;
        let language = match self.eat_words(&["LANGUAGE"]) {
            Some(_) => Some(self.name("a language")?),
            None => None,
        };
        let wasm = language.as_ref().is_some_and(|l| l.value.eq_ignore_ascii_case("WASM"));
        if let Some(l) = language.as_ref().filter(|_| !wasm) {
            let known = ["JAVA", "SCALA", "PYTHON"].iter().any(|k| l.value.eq_ignore_ascii_case(k));
            if !known {
                let message = format!("unknown language {}: LANGUAGE WASM is what there is", l.value);
                return Err(Diagnostic::error(codes::FUNCTION_SOURCE, l.span, message).hint(PLUGIN_HINT));
            }
        }
        let Some(using) = self.eat_words(&["USING"]) else {
            if wasm {
                return Err(self.unexpected("USING 'path.wasm'"));
            }
            return Ok(FunctionSource::Class { class: text, span: text_span });
        };
        self.wasm_source(using, wasm, (text, text_span))
    }

    fn wasm_source(&mut self, using: Span, wasm: bool, exported: (String, Span)) -> Parsed<FunctionSource> {
        if ["JAR", "FILE", "ARCHIVE"].iter().any(|w| self.is_word(0, w)) {
            let span = using.to(self.span(0));
            let message = format!("USING {} cannot be run", self.token(0).to_string().to_uppercase());
            return Err(Diagnostic::error(codes::FUNCTION_SOURCE, span, message).hint(PLUGIN_HINT));
        }
        let (path, path_span) = self.string("the path of a .wasm file in quotes")?;
        if !wasm {
            let message = "LANGUAGE WASM is missing before USING";
            return Err(Diagnostic::error(codes::FUNCTION_SOURCE, using, message).hint(PLUGIN_HINT));
        }
        Ok(FunctionSource::Wasm { exported: exported.0, path, exported_span: exported.1, path_span })
    }
}
