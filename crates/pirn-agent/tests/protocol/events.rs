//! The events, and the values in them that have names.

use super::shape::{Member, Shape, always, sometimes};

/// One kind of line.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) members: &'static [Member],
}

const MESSAGE: Shape = Shape::Named("message");
const BLOCKS: Shape = Shape::List(&Shape::Named("block"));
const REASON: Shape = Shape::Choice(&["manual", "threshold", "overflow"]);
const RESULT: Shape = Shape::Object(&[
    always("content", BLOCKS, "what a model reads"),
    sometimes("details", Shape::Any, "facts for programs"),
]);
const CALL_ID: Member = always("toolCallId", Shape::Text, "the call");
const TOOL: Member = always("toolName", Shape::Text, "the tool");
const PARENT: Member = sometimes(
    "parentToolCallId",
    Shape::Text,
    "the call that made this one; a script's calls have it",
);

/// All events, in the order of the page.
pub(super) const EVENTS: &[Event] = &[
    Event {
        name: "agent_start",
        help: "A run begins: a prompt, or the next try after a failure.",
        members: &[],
    },
    Event {
        name: "agent_end",
        help: "A run ends. What is left to do follows; wait for `agent_settled`.",
        members: &[
            always("messages", Shape::List(&MESSAGE), "what was said in it"),
            always(
                "willRetry",
                Shape::Flag,
                "whether another run follows by itself",
            ),
        ],
    },
    Event {
        name: "agent_settled",
        help: "Nothing more happens by itself. Comes exactly once for each prompt that started a run.",
        members: &[always("aborted", Shape::Flag, "whether it was stopped")],
    },
    Event {
        name: "turn_start",
        help: "A turn begins: one reply with its calls.",
        members: &[],
    },
    Event {
        name: "turn_end",
        help: "The reply is whole and its calls have results.",
        members: &[
            always("message", MESSAGE, "the reply"),
            always("toolResults", Shape::List(&MESSAGE), "what its calls gave"),
        ],
    },
    Event {
        name: "message_start",
        help: "A message begins, of whatever role.",
        members: &[always("message", MESSAGE, "as far as it is known")],
    },
    Event {
        name: "message_update",
        help: "A piece of the reply has come.",
        members: &[
            always("usage", Shape::Named("usage"), "what was used so far"),
            always(
                "assistantMessageEvent",
                Shape::Named("replyEvent"),
                "the piece",
            ),
        ],
    },
    Event {
        name: "message_end",
        help: "A message is complete.",
        members: &[always("message", MESSAGE, "")],
    },
    Event {
        name: "tool_execution_start",
        help: "A call begins.",
        members: &[
            CALL_ID,
            TOOL,
            always("args", Shape::Any, "its arguments"),
            PARENT,
        ],
    },
    Event {
        name: "tool_execution_update",
        help: "A call goes on.",
        members: &[
            CALL_ID,
            TOOL,
            always("args", Shape::Any, "its arguments"),
            PARENT,
            always(
                "partialResult",
                RESULT,
                "what there is to show now, in place of what was told before",
            ),
        ],
    },
    Event {
        name: "tool_execution_end",
        help: "A call has ended.",
        members: &[
            CALL_ID,
            TOOL,
            PARENT,
            always("result", RESULT, ""),
            always("isError", Shape::Flag, "whether it failed"),
            sometimes("durationMs", Shape::Count, "how long it took"),
        ],
    },
    Event {
        name: "question_start",
        help: "JSON mode: a question that will be denied. RPC tells questions as requests.",
        members: &[always("question", Shape::Named("question"), "")],
    },
    Event {
        name: "question_end",
        help: "JSON mode: the question is over.",
        members: &[
            always("questionId", Shape::Text, "the question"),
            always("answer", Shape::Named("answer"), "how it ended"),
        ],
    },
    Event {
        name: "server_state",
        help: "An MCP server changed its state.",
        members: &[
            always("name", Shape::Text, "the server"),
            always("state", Shape::Text, "in one word"),
            always(
                "detail",
                Shape::Maybe(&Shape::Text),
                "what a person should know of it",
            ),
        ],
    },
    Event {
        name: "note",
        help: "Something that a person should know.",
        members: &[always("text", Shape::Text, "a sentence")],
    },
    Event {
        name: "queue_update",
        help: "What waits to be said has changed.",
        members: &[
            always(
                "steering",
                Shape::List(&Shape::Text),
                "said before the model is asked again",
            ),
            always(
                "followUp",
                Shape::List(&Shape::Text),
                "said when the model would stop",
            ),
        ],
    },
    Event {
        name: "entry_appended",
        help: "An entry that is no message was added to the session.",
        members: &[always("entry", Shape::Named("entry"), "")],
    },
    Event {
        name: "session_info_changed",
        help: "The session has another name.",
        members: &[always("name", Shape::Maybe(&Shape::Text), "")],
    },
    Event {
        name: "thinking_level_changed",
        help: "The model thinks more or less from here on.",
        members: &[always("level", Shape::Named("thinkingLevel"), "")],
    },
    Event {
        name: "compaction_start",
        help: "The conversation is about to become shorter.",
        members: &[always("reason", REASON, "who or what wants it")],
    },
    Event {
        name: "compaction_end",
        help: "The conversation is shorter, or as it was.",
        members: &[
            always("reason", REASON, "who or what wanted it"),
            always("aborted", Shape::Flag, "whether it was stopped"),
            always(
                "willRetry",
                Shape::Flag,
                "whether the request that was too large is asked again",
            ),
            sometimes("result", Shape::Named("compaction"), "what came of it"),
            sometimes("errorMessage", Shape::Text, "why nothing came of it"),
        ],
    },
    Event {
        name: "bash_execution_update",
        help: "A command of the user's own printed something.",
        members: &[
            sometimes("id", Shape::Any, "the id of the `bash` command"),
            always("delta", Shape::Text, "what it printed"),
        ],
    },
    Event {
        name: "auto_retry_start",
        help: "A reply failed and is asked for again after a while.",
        members: &[
            always("attempt", Shape::Count, "which try comes"),
            always("maxAttempts", Shape::Count, "how many there are at most"),
            always("delayMs", Shape::Count, "how long it is waited"),
            always("errorMessage", Shape::Text, "what failed"),
        ],
    },
    Event {
        name: "auto_retry_end",
        help: "The tries are over.",
        members: &[
            always("success", Shape::Flag, "whether a reply came"),
            always("attempt", Shape::Count, "which try was the last"),
            sometimes("finalError", Shape::Text, "what failed in the end"),
        ],
    },
];

const USAGE: &[Member] = &[
    always("input", Shape::Count, "tokens read, without the cache"),
    always("output", Shape::Count, "tokens written, thoughts included"),
    always("cacheRead", Shape::Count, "tokens from the cache"),
    always("cacheWrite", Shape::Count, "tokens put into the cache"),
    sometimes("cacheWrite1h", Shape::Count, "those that stay for an hour"),
    sometimes(
        "reasoning",
        Shape::Count,
        "the part of output that was thought",
    ),
    always("totalTokens", Shape::Count, "all together"),
    always(
        "cost",
        Shape::Object(&[
            always("input", Shape::Number, ""),
            always("output", Shape::Number, ""),
            always("cacheRead", Shape::Number, ""),
            always("cacheWrite", Shape::Number, ""),
            always("total", Shape::Number, ""),
        ]),
        "in US dollars",
    ),
];

/// Values with names, in the order of the schemas.
pub(super) const NAMED: &[(&str, Shape)] = &[
    ("usage", Shape::Object(USAGE)),
    (
        "thinkingLevel",
        Shape::Choice(&["off", "minimal", "low", "medium", "high", "xhigh", "max"]),
    ),
    (
        "compaction",
        Shape::Object(&[
            always(
                "summary",
                Shape::Text,
                "stands for the beginning of the conversation",
            ),
            always(
                "firstKeptEntryId",
                Shape::Text,
                "the first entry that stays",
            ),
            always("tokensBefore", Shape::Count, ""),
            always("estimatedTokensAfter", Shape::Count, ""),
            always(
                "usage",
                Shape::Maybe(&Shape::Named("usage")),
                "what the summary cost",
            ),
            always(
                "details",
                Shape::Any,
                "the files that were read and changed",
            ),
        ]),
    ),
    (
        "entry",
        Shape::Object(&[
            always("type", Shape::Text, ""),
            always("id", Shape::Text, ""),
            always("parentId", Shape::Maybe(&Shape::Text), ""),
            always("timestamp", Shape::Text, "ISO 8601"),
        ]),
    ),
    (
        "model",
        Shape::Object(&[
            always("id", Shape::Text, ""),
            always("provider", Shape::Text, ""),
            always("api", Shape::Text, "the wire that it speaks"),
            always("baseUrl", Shape::Text, ""),
            always("contextWindow", Shape::Count, "tokens"),
            always("maxTokens", Shape::Count, "tokens of one reply"),
        ]),
    ),
    (
        "question",
        Shape::Object(&[
            always("id", Shape::Text, ""),
            always(
                "subject",
                Shape::Object(&[always("kind", Shape::Text, "")]),
                "what is asked about",
            ),
            always("arguments", Shape::Any, ""),
            always("reason", Shape::Text, "why it is asked"),
            always("choices", Shape::List(&Shape::Any), "the ways to allow it"),
        ]),
    ),
    (
        "answer",
        Shape::Object(&[always("kind", Shape::Text, "how it ended")]),
    ),
    (
        "session",
        Shape::Object(&[
            always("type", Shape::Choice(&["session"]), ""),
            always("version", Shape::Count, "of the format"),
            always("id", Shape::Text, ""),
            always("timestamp", Shape::Text, "ISO 8601"),
            always("cwd", Shape::Text, "the folder that it works in"),
            sometimes(
                "parentSession",
                Shape::Text,
                "the file that it was forked from",
            ),
        ]),
    ),
];

/// Pieces of replies, by `type`.
pub(super) const REPLY_EVENTS: &[(&str, &[Member])] = {
    const INDEX: Member = always("contentIndex", Shape::Count, "which block of the reply");
    const START: &[Member] = &[INDEX];
    const DELTA: &[Member] = &[INDEX, always("delta", Shape::Text, "what is new")];
    const END: &[Member] = &[INDEX, always("content", Shape::Text, "the whole block")];
    &[
        ("text_start", START),
        ("text_delta", DELTA),
        ("text_end", END),
        ("thinking_start", START),
        ("thinking_delta", DELTA),
        ("thinking_end", END),
        (
            "toolcall_start",
            &[
                INDEX,
                always("id", Shape::Text, "the call"),
                always("toolName", Shape::Text, "the tool"),
            ],
        ),
        ("toolcall_delta", DELTA),
        (
            "toolcall_end",
            &[INDEX, always("toolCall", Shape::Named("toolCall"), "")],
        ),
    ]
};

const CALL: &[Member] = &[
    always("id", Shape::Text, ""),
    always("name", Shape::Text, "the tool"),
    always("arguments", Shape::Any, ""),
];

/// Blocks of messages, by `type`.
pub(super) const BLOCK_KINDS: &[(&str, &[Member])] = &[
    ("text", &[always("text", Shape::Text, "")]),
    ("thinking", &[always("thinking", Shape::Text, "")]),
    (
        "image",
        &[
            always("data", Shape::Text, "base64"),
            always("mimeType", Shape::Text, ""),
        ],
    ),
    ("toolCall", CALL),
];

const TIMESTAMP: Member = always("timestamp", Shape::Count, "milliseconds since 1970");
const CONTENT: Member = always(
    "content",
    Shape::Either(&[Shape::Text, BLOCKS]),
    "text, or blocks",
);

/// Messages; the word in `role` tells them apart.
pub(super) const ROLES: &[(&str, &[Member])] = &[
    ("system", &[always("content", Shape::Text, ""), TIMESTAMP]),
    ("user", &[CONTENT, TIMESTAMP]),
    (
        "assistant",
        &[
            always("content", BLOCKS, ""),
            always("api", Shape::Text, ""),
            always("provider", Shape::Text, ""),
            always("model", Shape::Text, ""),
            always("usage", Shape::Named("usage"), ""),
            always(
                "stopReason",
                Shape::Text,
                "`stop`, `length`, `toolUse`, `error`, `aborted`, or `pending` while it comes",
            ),
            sometimes("errorMessage", Shape::Text, "what failed"),
            sometimes("durationMs", Shape::Count, ""),
            TIMESTAMP,
        ],
    ),
    (
        "toolResult",
        &[
            always("toolCallId", Shape::Text, ""),
            always("toolName", Shape::Text, ""),
            always("content", BLOCKS, ""),
            always("isError", Shape::Flag, ""),
            sometimes("nestedCalls", Shape::Any, "the calls that a script made"),
            TIMESTAMP,
        ],
    ),
    (
        "bashExecution",
        &[
            always("command", Shape::Text, ""),
            always("output", Shape::Text, ""),
            sometimes("exitCode", Shape::Integer, ""),
            TIMESTAMP,
        ],
    ),
    ("custom", &[always("customType", Shape::Text, ""), CONTENT]),
    ("branchSummary", &[always("summary", Shape::Text, "")]),
    ("compactionSummary", &[always("summary", Shape::Text, "")]),
];
