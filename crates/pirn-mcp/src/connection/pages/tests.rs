use serde_json::{Value, json};

use super::{After, BYTES_MAX, PAGES_MAX, Pages};

/// How many pages are taken of a server that always has one more, and why it ends.
fn endless(page: impl Fn(usize) -> Vec<Value>) -> (usize, usize, &'static str) {
    let mut pages = Pages::default();
    for number in 1.. {
        match pages.add(page(number), Some(number.to_string())) {
            After::Page(_) => {}
            After::End => panic!("it has one more"),
            After::Stopped(why) => return (number, pages.into_items().len(), why),
        }
    }
    unreachable!("the numbers do not end")
}

#[test]
fn a_list_ends_where_the_server_says() {
    let mut pages = Pages::default();
    let next = |cursor: &str| Some(cursor.to_owned());
    assert_eq!(
        pages.add(vec![json!(1)], next("a")),
        After::Page("a".to_owned())
    );
    assert_eq!(
        pages.add(vec![json!(2)], next("b")),
        After::Page("b".to_owned())
    );
    // Some say so with an empty cursor.
    assert_eq!(pages.add(vec![json!(3)], next("")), After::End);
    assert_eq!(pages.into_items(), [json!(1), json!(2), json!(3)]);
}

#[test]
fn a_list_without_end_is_cut_by_count_and_by_bytes() {
    assert_eq!(
        endless(|_number| vec![json!({})]),
        (PAGES_MAX, PAGES_MAX, "it has too many pages")
    );
    assert_eq!(
        endless(|_number| Vec::new()),
        (PAGES_MAX, 0, "it has too many pages")
    );
    let page = vec![json!({}); 4_000];
    assert_eq!(
        endless(|_number| page.clone()),
        (3, 12_000, "it has too many entries")
    );
    let item = json!({"name": "x".repeat(BYTES_MAX / 4)});
    assert_eq!(
        endless(|_number| vec![item.clone()]),
        (4, 4, "its entries are too large together")
    );
}

#[test]
fn cursors_count_and_must_not_repeat() {
    let mut pages = Pages::default();
    assert!(matches!(
        pages.add(Vec::new(), Some("a".to_owned())),
        After::Page(_)
    ));
    assert_eq!(
        pages.add(Vec::new(), Some("a".to_owned())),
        After::Stopped("it repeats a cursor")
    );
    let mut pages = Pages::default();
    let long = "c".repeat(BYTES_MAX);
    assert_eq!(
        pages.add(Vec::new(), Some(long)),
        After::Stopped("its entries are too large together")
    );
}
