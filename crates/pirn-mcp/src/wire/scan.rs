//! Finds out where a JSON value ends, byte by byte, without building it.

use rmcp::model::RequestId;

/// Deeper values than this are refused; the parser behind gives up at 128 levels.
const DEPTH_MAX: usize = 512;
/// No identifier of ours is longer than this as JSON; longer ones are not kept.
const ID_BYTES_MAX: usize = 128;
/// The longest member name that matters here, `jsonrpc`, and one more byte to tell longer ones.
const KEY_BYTES_MAX: usize = 8;

/// How far a scan came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    /// So far it is the beginning of a value.
    More,
    /// The value ended with the last byte that was taken.
    Complete,
    /// The next byte cannot continue a value.
    Broken,
}

/// Follows one object or array through any number of pieces. It takes what the lenient parser takes: raw control characters
/// in strings, and the numbers that JSON does not have.
#[derive(Debug)]
pub(super) struct Scanner {
    /// What is open, outermost first: `{` or `[`.
    stack: Vec<u8>,
    state: State,
    members: Members,
    /// The name being read, of a member of the outermost object.
    key: Vec<u8>,
    member: Member,
    /// The JSON of the outermost object's `id`.
    id: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Value,
    ValueOrEnd,
    Key,
    KeyOrEnd,
    Colon,
    CommaOrEnd,
    String(Role),
    Escape(Role),
    Number { previous: u8 },
    Word { rest: &'static [u8] },
    Ended(Status),
}

/// What a string is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Key,
    Value,
}

/// The members of a message that say what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Member {
    Jsonrpc = 1,
    Id = 2,
    Method = 4,
    /// A result or an error.
    Outcome = 8,
    Other = 16,
}

/// Which of them were seen in the outermost object.
#[derive(Debug, Clone, Copy, Default)]
struct Members(u8);

impl Members {
    fn add(&mut self, member: Member) {
        self.0 |= member as u8;
    }

    fn has(self, member: Member) -> bool {
        self.0 & member as u8 != 0
    }
}

impl Scanner {
    /// A scan that expects an object or an array.
    pub(super) fn new() -> Self {
        Self {
            stack: Vec::new(),
            state: State::Value,
            members: Members::default(),
            key: Vec::new(),
            member: Member::Other,
            id: Vec::new(),
        }
    }

    /// Starts over; nothing that was allocated is given back.
    pub(super) fn restart(&mut self) {
        self.stack.clear();
        self.state = State::Value;
        self.members = Members::default();
        self.key.clear();
        self.member = Member::Other;
        self.id.clear();
    }

    /// Takes bytes until the value ends or breaks. Returns how many were taken; the byte that breaks it is not.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> (usize, Status) {
        let mut at = 0;
        while let Some(rest) = bytes.get(at..)
            && let Some(&byte) = rest.first()
        {
            if let State::Ended(status) = self.state {
                return (at, status);
            }
            if let State::String(role) = self.state {
                at += self.string(role, rest);
            } else if self.step(byte) {
                at += 1;
            }
        }
        match self.state {
            State::Ended(status) => (at, status),
            State::Value
            | State::ValueOrEnd
            | State::Key
            | State::KeyOrEnd
            | State::Colon
            | State::CommaOrEnd
            | State::String(_)
            | State::Escape(_)
            | State::Number { .. }
            | State::Word { .. } => (at, Status::More),
        }
    }

    /// Whether the members seen so far are those of a whole message: a line of its own, whatever came before it.
    pub(super) fn is_message(&self) -> bool {
        self.members.has(Member::Jsonrpc)
            || (self.members.has(Member::Id) && self.members.has(Member::Outcome))
    }

    /// Whether the members seen so far could be those of a message, so that somebody may wait for it.
    pub(super) fn resembles_message(&self) -> bool {
        self.members.has(Member::Jsonrpc) || self.members.has(Member::Id)
    }

    /// The `id` of the outermost object, as far as it was seen, unless that is a question itself.
    pub(super) fn answered_id(&self) -> Option<RequestId> {
        if self.members.has(Member::Method) && !self.members.has(Member::Outcome) {
            return None;
        }
        serde_json::from_slice(&self.id).ok()
    }

    /// Takes string content up to its end, an escape, or the end of the piece.
    fn string(&mut self, role: Role, rest: &[u8]) -> usize {
        let found = memchr::memchr2(b'"', b'\\', rest);
        let taken = found.map_or(rest.len(), |index| index + 1);
        self.keep(role, rest.get(..taken).unwrap_or_default());
        match found.and_then(|index| rest.get(index)) {
            Some(b'"') => self.end_string(role),
            Some(_) => self.state = State::Escape(role),
            None => {}
        }
        taken
    }

    /// Keeps what is needed later: names and the identifier of the outermost object.
    fn keep(&mut self, role: Role, bytes: &[u8]) {
        if self.stack.len() != 1 {
            return;
        }
        let (kept, limit) = match role {
            Role::Key => (&mut self.key, KEY_BYTES_MAX),
            Role::Value if self.member == Member::Id => (&mut self.id, ID_BYTES_MAX),
            Role::Value => return,
        };
        let room = limit.saturating_sub(kept.len()).min(bytes.len());
        kept.extend_from_slice(bytes.get(..room).unwrap_or_default());
    }

    fn end_string(&mut self, role: Role) {
        match role {
            Role::Key => {
                if self.stack.len() == 1 {
                    self.end_key();
                }
                self.state = State::Colon;
            }
            Role::Value => self.state = State::CommaOrEnd,
        }
    }

    fn end_key(&mut self) {
        // With the closing quote.
        self.member = match self.key.as_slice() {
            b"jsonrpc\"" => Member::Jsonrpc,
            b"id\"" => Member::Id,
            b"method\"" => Member::Method,
            b"result\"" | b"error\"" => Member::Outcome,
            _ => Member::Other,
        };
        self.members.add(self.member);
        if self.member == Member::Id {
            self.id.clear();
        }
    }

    /// Takes one byte outside of string content. False: the byte was not taken, the state changed instead.
    fn step(&mut self, byte: u8) -> bool {
        match self.state {
            State::Escape(role) => {
                self.keep(role, &[byte]);
                self.state = State::String(role);
                true
            }
            State::Number { previous } => self.number(previous, byte),
            State::Word { rest } => self.word(rest, byte),
            State::Value
            | State::ValueOrEnd
            | State::Key
            | State::KeyOrEnd
            | State::Colon
            | State::CommaOrEnd
                if matches!(byte, b' ' | b'\t' | b'\r' | b'\n') =>
            {
                true
            }
            State::ValueOrEnd if byte == b']' => self.close(),
            State::Value | State::ValueOrEnd => self.value(byte),
            State::KeyOrEnd if byte == b'}' => self.close(),
            State::Key | State::KeyOrEnd if byte == b'"' => {
                self.key.clear();
                self.become_state(State::String(Role::Key))
            }
            State::Colon if byte == b':' => self.become_state(State::Value),
            State::CommaOrEnd => self.after_value(byte),
            State::Key | State::KeyOrEnd | State::Colon => self.fail(),
            // The string's content and an ended scan never come here.
            State::String(_) | State::Ended(_) => false,
        }
    }

    fn become_state(&mut self, state: State) -> bool {
        self.state = state;
        true
    }

    fn fail(&mut self) -> bool {
        self.state = State::Ended(Status::Broken);
        false
    }

    fn value(&mut self, byte: u8) -> bool {
        let word: &'static [u8] = match byte {
            b'{' | b'[' => return self.open(byte),
            _ if self.stack.is_empty() => return self.fail(),
            b'"' => {
                self.keep(Role::Value, &[byte]);
                return self.become_state(State::String(Role::Value));
            }
            b'-' | b'0'..=b'9' => {
                self.keep(Role::Value, &[byte]);
                return self.become_state(State::Number { previous: byte });
            }
            b't' => b"rue",
            b'f' => b"alse",
            b'n' => b"ull",
            b'N' => b"aN",
            b'I' => b"nfinity",
            _ => return self.fail(),
        };
        self.become_state(State::Word { rest: word })
    }

    fn open(&mut self, bracket: u8) -> bool {
        if self.stack.len() >= DEPTH_MAX {
            return self.fail();
        }
        self.stack.push(bracket);
        self.become_state(if bracket == b'{' {
            State::KeyOrEnd
        } else {
            State::ValueOrEnd
        })
    }

    fn close(&mut self) -> bool {
        self.stack.pop();
        self.become_state(if self.stack.is_empty() {
            State::Ended(Status::Complete)
        } else {
            State::CommaOrEnd
        })
    }

    fn after_value(&mut self, byte: u8) -> bool {
        match (self.stack.last(), byte) {
            (Some(b'{'), b',') => self.become_state(State::Key),
            (Some(_), b',') => self.become_state(State::Value),
            (Some(b'{'), b'}') | (Some(b'['), b']') => self.close(),
            _ => self.fail(),
        }
    }

    fn number(&mut self, previous: u8, byte: u8) -> bool {
        match byte {
            b'I' if previous == b'-' => return self.become_state(State::Word { rest: b"nfinity" }),
            b'0'..=b'9' | b'.' | b'e' | b'E' => {}
            // So that a date is no number.
            b'+' | b'-' if matches!(previous, b'e' | b'E') => {}
            b'+' | b'-' => return self.fail(),
            _ => {
                self.state = State::CommaOrEnd;
                return false;
            }
        }
        self.keep(Role::Value, &[byte]);
        self.become_state(State::Number { previous: byte })
    }

    fn word(&mut self, rest: &'static [u8], byte: u8) -> bool {
        match rest.split_first() {
            Some((first, rest)) if *first == byte => self.become_state(State::Word { rest }),
            Some(_) => self.fail(),
            None => {
                self.state = State::CommaOrEnd;
                false
            }
        }
    }
}
