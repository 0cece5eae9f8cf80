//! "Did you mean".

/// The candidate nearest to `name`, ignoring case, if it is near enough to be a likely slip.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Long names from a hostile script would make the comparison quadratic.
    const LENGTH_MAX: usize = 100;
    if name.len() > LENGTH_MAX {
        return None;
    }
    let lower = name.to_lowercase();
    let allowed = (lower.chars().count() / 3).clamp(1, 4);
    candidates
        .into_iter()
        .map(|c| (strsim::osa_distance(&lower, &c.to_lowercase()), c))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, c)| c)
}

/// A hint text `did you mean X?`.
pub fn did_you_mean<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(name, candidates).map(|c| format!("did you mean {c}?"))
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn finds_slips_and_wrong_case_but_nothing_far_away() {
        let all = ["bootstrapServers", "topic", "zookeeperQuorum"];
        assert_eq!(nearest("zookeeperQuorm", all), Some("zookeeperQuorum"));
        assert_eq!(nearest("TOPIC", all), Some("topic"));
        assert_eq!(nearest("database", all), None);
    }
}
