//! How a side table is kept and asked, from the options that all connectors share.

use super::api::{LookupCache, LookupSettings, LruSpec};
use super::local::load::reload_interval;
use crate::sql::options::ResolvedOptions;

/// Keys that are kept if the table does not say: every cache has a limit.
const MAX_KEYS: usize = 10_000;
/// Keys in one query, if the table does not limit those under way.
const KEYS_PER_QUERY: usize = 256;
/// Queries under way, if the connector does not limit them.
const CONCURRENCY: usize = 8;

/// `otherwise`: the cache of a table that does not name one.
pub fn settings(options: &ResolvedOptions, otherwise: LookupCache) -> LookupSettings {
    let count = |name: &str| options.int(name).and_then(|n| usize::try_from(n).ok());
    // flinkStreamSQL counts rows under way; ours travel many in a query.
    let capacity = count("lookup.async.capacity").filter(|n| *n > 0);
    let keys_per_query = capacity.unwrap_or(KEYS_PER_QUERY).min(KEYS_PER_QUERY);
    LookupSettings {
        cache: cache(options, otherwise),
        ordered: options.text("lookup.output-mode") != Some("unordered"),
        concurrency: CONCURRENCY,
        capacity: capacity.unwrap_or(KEYS_PER_QUERY * CONCURRENCY),
        keys_per_query,
        timeout: options.duration("lookup.async.timeout").filter(|d| !d.is_zero()),
        unanswered_max: options.int("lookup.async.fail-max").and_then(|n| u64::try_from(n).ok()),
        retries: options.int("lookup.max-retries").map_or(3, |n| u32::try_from(n).unwrap_or(u32::MAX)),
    }
}

fn cache(options: &ResolvedOptions, otherwise: LookupCache) -> LookupCache {
    match options.text("lookup.cache") {
        Some("ALL" | "FULL") => LookupCache::All { reload: reload_interval(options) },
        Some("LRU" | "PARTIAL") => lru(options, true),
        Some(_) => LookupCache::None,
        // The older options of Flink name no cache: with a size there is one.
        None if options.is_set("lookup.cache.max-rows") => lru(options, false),
        None => otherwise,
    }
}

/// A size of 0 (and -1 in the older options) is no cache.
fn lru(options: &ResolvedOptions, named: bool) -> LookupCache {
    let max_keys = match options.int("lookup.cache.max-rows") {
        None => MAX_KEYS,
        Some(n) if n < 0 && named => MAX_KEYS,
        Some(n) => usize::try_from(n).unwrap_or(0),
    };
    if max_keys == 0 {
        return LookupCache::None;
    }
    LookupCache::Lru(LruSpec {
        max_keys,
        expire_after_write: options.duration("lookup.cache.ttl").filter(|d| !d.is_zero()),
        expire_after_access: options.duration("lookup.cache.expire-after-access").filter(|d| !d.is_zero()),
        cache_missing: options.bool("lookup.cache.missing-key").unwrap_or(true),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::common::COMMON;
    use crate::diagnostic::{Pos, Span};
    use crate::sql::options::{Dialect, OptionEntry, parse_value};
    use std::time::Duration;

    /// As the resolver reads them, defaults too.
    fn options(dialect: Dialect, given: &[(&str, &str)]) -> ResolvedOptions {
        let mut resolved = ResolvedOptions::default();
        for spec in COMMON {
            let default = spec.default.iter().find(|(d, _)| *d == dialect).map(|(_, text)| (*text, false));
            let text = given.iter().find(|(k, _)| spec.spelled(dialect).any(|s| s == *k)).map(|(_, v)| (*v, true));
            if let Some((text, set)) = text.or(default) {
                let span = set.then(|| Span::new(Pos::default(), Pos::default()));
                let value = parse_value(spec.kind, text).unwrap();
                let entry = OptionEntry { value, text: text.into(), key: String::new(), span, sensitive: false };
                resolved.entries.insert(spec.name, entry);
            }
        }
        resolved
    }

    fn of(dialect: Dialect, given: &[(&str, &str)]) -> LookupSettings {
        settings(&options(dialect, given), LookupCache::None)
    }

    fn spec(settings: &LookupSettings) -> LruSpec {
        let LookupCache::Lru(spec) = &settings.cache else { panic!("{settings:?}") };
        spec.clone()
    }

    #[test]
    fn flinkstreamsql_names_its_cache_and_has_its_defaults() {
        let none = of(Dialect::DtStack, &[]);
        assert_eq!((none.cache, none.ordered, none.retries), (LookupCache::None, true, 3));
        assert_eq!((none.timeout, none.keys_per_query), (Some(Duration::from_secs(10)), 100));
        let lru = of(Dialect::DtStack, &[("cache", "lru"), ("cacheSize", "5"), ("cacheMode", "unordered")]);
        assert_eq!((spec(&lru).max_keys, lru.ordered), (5, false));
        assert_eq!(spec(&lru).expire_after_write, Some(Duration::from_secs(60)));
        let all = of(Dialect::DtStack, &[("cache", "ALL"), ("cacheTTLMs", "1000")]);
        assert_eq!(all.cache, LookupCache::All { reload: Some(Duration::from_secs(1)) });
        assert_eq!(of(Dialect::DtStack, &[("cache", "LRU"), ("cacheSize", "0")]).cache, LookupCache::None);
    }

    #[test]
    fn both_generations_of_flinks_options_mean_the_same() {
        let new = [("lookup.cache", "PARTIAL"), ("lookup.partial-cache.max-rows", "7")];
        let new = of(Dialect::Flink, &[&new[..], &[("lookup.partial-cache.expire-after-access", "5 s")]].concat());
        assert_eq!((spec(&new).max_keys, spec(&new).expire_after_access), (7, Some(Duration::from_secs(5))));
        let old = of(Dialect::Flink, &[("lookup.cache.max-rows", "7"), ("lookup.cache.ttl", "5 s")]);
        assert_eq!((spec(&old).max_keys, spec(&old).expire_after_write), (7, Some(Duration::from_secs(5))));
        let legacy = of(Dialect::Legacy, &[("connector.lookup.cache.max-rows", "-1")]);
        assert_eq!(legacy.cache, LookupCache::None);
        let full = [("lookup.cache", "FULL"), ("lookup.full-cache.periodic-reload.interval", "1 min")];
        assert_eq!(of(Dialect::Flink, &full).cache, LookupCache::All { reload: Some(Duration::from_secs(60)) });
        assert_eq!(of(Dialect::Flink, &[("lookup.max-retries", "0")]).retries, 0);
    }
}
