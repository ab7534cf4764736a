use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use pirn_tool::Effects;

use super::*;

/// Somebody who always gives the same answer, and counts.
struct Person {
    answer: Answer,
    asked: AtomicUsize,
    told: AtomicUsize,
}

impl Person {
    fn new(answer: Answer) -> Arc<Self> {
        Arc::new(Self {
            answer,
            asked: AtomicUsize::new(0),
            told: AtomicUsize::new(0),
        })
    }
}

impl Confirmer for Person {
    fn is_present(&self) -> bool {
        true
    }

    fn confirm<'a>(&'a self, _question: &'a Question) -> BoxFuture<'a, Answer> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Box::pin(std::future::ready(self.answer))
    }

    fn tell_remembered(&self, _question: &Question) {
        self.told.fetch_add(1, Ordering::Relaxed);
    }
}

fn question(code: &str) -> Question {
    Question {
        language: Language::Python,
        source: escape_source(code),
        code_bytes: code.len(),
        effects: Effects::READ,
        confinement: String::new(),
        callable: Vec::new(),
        fingerprint: fingerprint(&["python", "read", code]),
        can_remember: true,
    }
}

fn decide(gates: &Gates, code: &str) -> Result<Approval, Denial> {
    gates
        .pass(&question(code))
        .now_or_never()
        .expect("no answer here takes time")
}

#[test]
fn the_gates_are_independent() {
    let nobody: Arc<dyn Confirmer> = Arc::new(NobodyThere);
    let rows = [
        (
            Asking::Always,
            NonInteractive::Refused,
            Err(Denial::NobodyToAsk),
        ),
        (
            Asking::Never,
            NonInteractive::Refused,
            Err(Denial::NobodyToAsk),
        ),
        (
            Asking::Always,
            NonInteractive::Allowed,
            Ok(Approval::NonInteractive),
        ),
        (
            Asking::Never,
            NonInteractive::Allowed,
            Ok(Approval::NonInteractive),
        ),
    ];
    for (asking, non_interactive, expected) in rows {
        let gates = Gates {
            asking,
            non_interactive,
            ..Gates::new(Arc::clone(&nobody))
        };
        assert_eq!(
            decide(&gates, "1"),
            expected,
            "{asking:?} {non_interactive:?}"
        );
    }
}

#[test]
fn a_person_who_is_there_decides() {
    for (answer, expected) in [
        (Answer::Yes, Ok(Approval::Given)),
        (Answer::YesForSession, Ok(Approval::Given)),
        (Answer::No, Err(Denial::Declined)),
        (Answer::Nobody, Err(Denial::NobodyToAsk)),
    ] {
        let gates = Gates {
            // It is not for somebody who said no.
            non_interactive: NonInteractive::Refused,
            ..Gates::new(Person::new(answer))
        };
        assert_eq!(decide(&gates, "1"), expected, "{answer:?}");
    }
    let person = Person::new(Answer::No);
    let gates = Gates {
        asking: Asking::Never,
        ..Gates::new(person.clone())
    };
    assert_eq!(decide(&gates, "1"), Ok(Approval::NotAsked));
    assert_eq!(person.asked.load(Ordering::Relaxed), 0);
}

#[test]
fn approvals_are_remembered_by_the_exact_program_only_where_wanted() {
    for (remembering, asked, told) in [(Remembering::Off, 5, 0), (Remembering::Session, 3, 2)] {
        let person = Person::new(Answer::YesForSession);
        let gates = Gates {
            remembering,
            ..Gates::new(person.clone())
        };
        for code in ["1", "1", "1 ", "1", "x"] {
            assert!(decide(&gates, code).is_ok());
        }
        assert_eq!(
            person.asked.load(Ordering::Relaxed),
            asked,
            "{remembering:?}"
        );
        assert_eq!(person.told.load(Ordering::Relaxed), told, "{remembering:?}");
        gates.approvals.forget();
        assert_eq!(decide(&gates, "1"), Ok(Approval::Given));
    }
}

#[test]
fn an_approval_for_once_is_not_remembered() {
    let person = Person::new(Answer::Yes);
    let gates = Gates {
        remembering: Remembering::Session,
        ..Gates::new(person.clone())
    };
    assert!(decide(&gates, "1").is_ok() && decide(&gates, "1").is_ok());
    assert_eq!(person.asked.load(Ordering::Relaxed), 2);
}

#[test]
fn fingerprints_tell_parts_apart() {
    assert_ne!(fingerprint(&["ab", "c"]), fingerprint(&["a", "bc"]));
    assert_ne!(fingerprint(&["a"]), fingerprint(&["a", ""]));
    assert_eq!(fingerprint(&["a"]).len(), 64);
}

/// The characters of a source, from how it is shown.
fn unescape(shown: &str) -> String {
    let mut source = String::new();
    let mut rest = shown;
    while let Some((before, after)) = rest.split_once('⟦') {
        let (number, after) = after
            .split_once('⟧')
            .expect("every escape has both brackets");
        source.push_str(before);
        let number = number.strip_prefix("U+").expect("a number");
        let number = u32::from_str_radix(number, 16).expect("a number");
        source.push(char::from_u32(number).expect("a character"));
        rest = after;
    }
    source + rest
}

proptest::proptest! {
    #[test]
    fn a_shown_source_can_be_read_back(source: String) {
        let shown = escape_source(&source);
        proptest::prop_assert_eq!(unescape(&shown), source);
        let is_plain = |c: char| matches!(c, '\n' | '\t' | ' ') || !(c.is_control() || c.is_whitespace());
        proptest::prop_assert!(shown.chars().all(is_plain));
    }
}

#[test]
fn what_hides_is_shown() {
    for (source, shown) in [
        ("x = 1\n\ty", "x = 1\n\ty"),
        ("\u{1b}[2Kprint()\u{8}", "⟦U+001B⟧[2Kprint()⟦U+0008⟧"),
        ("a\u{202e}b\u{200b}\u{a0}", "a⟦U+202E⟧b⟦U+200B⟧⟦U+00A0⟧"),
        ("⟦U+0041⟧", "⟦U+27E6⟧U+0041⟧"),
        ("\\u{202e} ä 漢", "\\u{202e} ä 漢"),
        ("\u{e0041}", "⟦U+E0041⟧"),
    ] {
        assert_eq!(escape_source(source), shown);
    }
}
