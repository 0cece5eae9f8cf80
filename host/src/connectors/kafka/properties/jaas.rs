//! `sasl.jaas.config`: one login module with its options.

/// What the line says, in librdkafka's names.
#[derive(Debug, PartialEq, Eq)]
pub struct Login {
    pub settings: Vec<(&'static str, String)>,
}

/// `a.b.PlainLoginModule required username="alice" password="..";` The messages never repeat values.
pub fn parse(line: &str) -> Result<Login, String> {
    let words = words(line)?;
    let mut words = words.iter().map(String::as_str);
    let class = words.next().ok_or("is empty")?;
    let module = class.rsplit('.').next().unwrap_or(class);
    let flag = words.next().unwrap_or_default();
    if !["required", "requisite", "sufficient", "optional"].iter().any(|f| f.eq_ignore_ascii_case(flag)) {
        return Err(format!("after {module} comes 'required', then options such as username=\"..\", then ;"));
    }
    let mut options = Vec::new();
    for word in words {
        let (key, value) = word.split_once('=').ok_or("an option looks like username=\"alice\"")?;
        options.push((key.trim(), value));
    }
    let get = |name: &str| options.iter().find(|(k, _)| k.eq_ignore_ascii_case(name)).map(|(_, v)| v.to_string());
    match module {
        "PlainLoginModule" | "ScramLoginModule" => password_login(module, get),
        "Krb5LoginModule" => kerberos_login(get),
        "OAuthBearerLoginModule" => Err("OAUTHBEARER is not supported: its tokens come from Java callbacks".into()),
        _ => Err(format!(
            "the login module {module} cannot run here; PlainLoginModule, ScramLoginModule and Krb5LoginModule can"
        )),
    }
}

fn password_login(module: &str, get: impl Fn(&str) -> Option<String>) -> Result<Login, String> {
    let needed = |name: &str| get(name).ok_or_else(|| format!("{module} needs {name}=\"..\""));
    if get("tokenauth").is_some_and(|t| t.eq_ignore_ascii_case("true")) {
        return Err("delegation tokens (tokenauth) are not supported; use a user name and password".into());
    }
    Ok(Login { settings: vec![("sasl.username", needed("username")?), ("sasl.password", needed("password")?)] })
}

fn kerberos_login(get: impl Fn(&str) -> Option<String>) -> Result<Login, String> {
    let yes = |name: &str| get(name).is_some_and(|v| v.eq_ignore_ascii_case("true"));
    let mut settings = Vec::new();
    if yes("useKeyTab") || get("keyTab").is_some() {
        let keytab = get("keyTab").ok_or("useKeyTab=true needs keyTab=\"/path/of.keytab\"")?;
        let principal = get("principal").ok_or("a keytab needs principal=\"name@REALM\"")?;
        settings.push(("sasl.kerberos.keytab", keytab.trim_start_matches("file:").to_string()));
        settings.push(("sasl.kerberos.principal", principal));
    } else if get("ticketCache").is_some() {
        return Err(
            "the ticket cache cannot be chosen per table; set KRB5CCNAME of the process, or use a keytab".into()
        );
    } else if !yes("useTicketCache") {
        return Err("Krb5LoginModule needs useKeyTab=true with keyTab and principal, or useTicketCache=true".into());
    }
    if let Some(service) = get("serviceName") {
        settings.push(("sasl.kerberos.service.name", service));
    }
    Ok(Login { settings })
}

/// Splits at blanks outside of quotes, up to the first `;`. Quotes are taken off; a backslash inside takes the next
/// character as it is.
fn words(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote: Option<char> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(_), '\\') => word.extend(chars.next()),
            (Some(q), c) if c == q => quote = None,
            (Some(_), c) => word.push(c),
            (None, '"' | '\'') => quote = Some(c),
            (None, ';') => {
                if chars.any(|c| !c.is_whitespace()) {
                    return Err("only one login module is possible, and nothing after its ;".into());
                }
                break;
            }
            (None, c) if c.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            (None, c) => word.push(c),
        }
    }
    if quote.is_some() {
        return Err("a quote is not closed".into());
    }
    if !word.is_empty() {
        words.push(word);
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_modules_are_understood() {
        let login = parse(
            r#"org.apache.kafka.common.security.scram.ScramLoginModule required username="al ice" password="a\"b;=c";"#,
        );
        let settings = vec![("sasl.username", "al ice".to_string()), ("sasl.password", "a\"b;=c".to_string())];
        assert_eq!(login, Ok(Login { settings: settings.clone() }));
        let plain = "x.PlainLoginModule required\n  username='al ice'\n  password='a\"b;=c' ;";
        assert_eq!(parse(plain), Ok(Login { settings }));
        let krb = parse(
            r#"com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true keyTab="/k/a.keytab" principal="alice@R" serviceName=kafka;"#,
        );
        assert_eq!(
            krb.map(|l| l.settings.into_iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>()),
            Ok(vec![
                "sasl.kerberos.keytab=/k/a.keytab".to_string(),
                "sasl.kerberos.principal=alice@R".into(),
                "sasl.kerberos.service.name=kafka".into()
            ])
        );
        assert_eq!(parse("Krb5LoginModule required useTicketCache=true;"), Ok(Login { settings: vec![] }));
    }

    #[test]
    fn what_cannot_be_done_is_said_without_values() {
        for (line, part) in [
            ("", "is empty"),
            ("x.PlainLoginModule username=\"secret\" password=\"secret\";", "'required'"),
            ("x.PlainLoginModule required username=\"secret\";", "needs password"),
            ("x.PlainLoginModule required username=\"secret;", "not closed"),
            ("x.OAuthBearerLoginModule required;", "OAUTHBEARER"),
            ("a.b.MyModule required secret=secret;", "MyModule cannot run"),
            ("Krb5LoginModule required useTicketCache=true ticketCache=\"/secret\";", "KRB5CCNAME"),
            ("x.ScramLoginModule required username=secret password=secret tokenauth=true;", "tokens"),
            ("x.PlainLoginModule required username=secret password=secret; y.Z required;", "only one"),
        ] {
            let message = parse(line).expect_err(line);
            assert!(message.contains(part) && !message.contains("secret"), "{line}: {message}");
        }
    }
}
