use pirn_terminal::Role;

use super::{Direction, Scroll};
use crate::call::Detail;
use crate::transcript::Transcript;

fn notes(count: usize) -> Transcript {
    let mut transcript = Transcript::default();
    for number in 0..count {
        transcript.note(format!("note {number}"), Role::Muted);
    }
    transcript
}

fn texts(scroll: &mut Scroll, transcript: &Transcript, room: usize) -> Vec<String> {
    let (rows, _) = scroll.rows(transcript, 20, room);
    rows.iter().map(pirn_terminal::Row::text).collect()
}

#[test]
fn it_follows_the_end_until_one_goes_up() {
    let mut transcript = notes(3);
    let mut scroll = Scroll::at_end(Detail::Short);
    assert_eq!(
        texts(&mut scroll, &transcript, 4),
        ["note 1", "", "note 2", ""]
    );
    transcript.note("note 3".to_owned(), Role::Muted);
    assert_eq!(
        texts(&mut scroll, &transcript, 4),
        ["note 2", "", "note 3", ""]
    );
    scroll.rows_back(2);
    assert_eq!(
        texts(&mut scroll, &transcript, 4),
        ["note 1", "", "note 2", ""]
    );
    // What comes below moves nothing.
    transcript.note("note 4".to_owned(), Role::Muted);
    let (_, place) = scroll.rows(&transcript, 20, 4);
    assert_eq!((place.top, place.below, place.total), (2, 4, 10));
    scroll.go_to_end();
    assert_eq!(
        texts(&mut scroll, &transcript, 4),
        ["note 3", "", "note 4", ""]
    );
}

#[test]
fn it_finds_around_the_end() {
    let transcript = notes(30);
    let mut scroll = Scroll::at_end(Detail::Short);
    texts(&mut scroll, &transcript, 4);
    assert_eq!(scroll.find(&transcript, "note 1", Direction::Forward), 11);
    assert_eq!(texts(&mut scroll, &transcript, 2), ["note 1", ""]);
    scroll.find(&transcript, "note 1", Direction::Back);
    assert_eq!(texts(&mut scroll, &transcript, 2), ["note 19", ""]);
    assert_eq!(scroll.find(&transcript, "nowhere", Direction::Back), 0);
}

#[test]
fn a_block_is_folded_and_opened_by_itself() {
    let mut transcript = Transcript::default();
    transcript.begin_command("seq 60".to_owned());
    let output = (0..60).fold(String::new(), |output, number| {
        output + &format!("row {number}\n")
    });
    transcript.command_output(&output);
    transcript.end_command(None);
    transcript.note("after".to_owned(), Role::Muted);
    let mut scroll = Scroll::at_end(Detail::Short);
    let (_, folded) = scroll.rows(&transcript, 20, 5);
    scroll.go_to_start();
    scroll.choose(Direction::Forward);
    scroll.toggle(&transcript);
    let (_, open) = scroll.rows(&transcript, 20, 5);
    assert_eq!(open.total - folded.total, 39);
    scroll.toggle(&transcript);
    assert_eq!(scroll.rows(&transcript, 20, 5).1.total, folded.total);
}
