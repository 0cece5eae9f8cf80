use super::*;

#[test]
fn the_job_says_what_a_table_does_not_and_changes_stay_in_order() {
    let table = LookupSettings { capacity: 7, ..LookupSettings::load_all() };
    assert_eq!(Asking::default().over(table.clone()), table);
    let asking = Asking { capacity: Some(3), timeout: Some(Duration::from_secs(1)), unordered: true, changes: false };
    let asked = asking.over(table.clone());
    assert_eq!((asked.capacity, asked.timeout, asked.ordered), (3, Some(Duration::from_secs(1)), false));
    let changes = Asking { changes: true, ..asking };
    assert!(changes.over(LookupSettings { ordered: false, ..table }).ordered);
}
