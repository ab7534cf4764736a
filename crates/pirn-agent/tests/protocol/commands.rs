//! The commands of RPC, each with an example of it and of its answer. A test sends the examples and compares the answers' shapes.

use super::shape::{Member, Shape, always, sometimes};

/// A command, as the page describes it and as its schema is made.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    /// Members besides `id` and `type`.
    pub(super) members: &'static [Member],
    pub(super) data: Data,
    pub(super) example: &'static str,
    pub(super) answer: &'static str,
}

/// What the answer carries besides the success.
#[derive(Debug, Clone, Copy)]
pub(super) enum Data {
    Nothing,
    /// A value of this shape.
    Value(Shape),
}

const DISPOSITION: Data = Data::Value(Shape::Object(&[always(
    "disposition",
    Shape::Choice(&["started", "queued"]),
    "whether it is said now or later",
)]));
const MESSAGE: Member = always("message", Shape::Text, "what is said");
const IMAGES: Member = sometimes(
    "images",
    Shape::List(&Shape::Named("block")),
    "pictures: `type` `image`, `data` in base64, `mimeType`",
);
const CANCELLED: Member = always("cancelled", Shape::Flag, "whether an extension refused");
const ENABLED: Member = always("enabled", Shape::Flag, "");
const MODE: Member = always(
    "mode",
    Shape::Choice(&["one-at-a-time", "all"]),
    "how many of those that wait are said at once",
);
const LEAF: Member = always(
    "leafId",
    Shape::Maybe(&Shape::Text),
    "where the conversation is",
);
const FILE: Member = always(
    "sessionFile",
    Shape::Maybe(&Shape::Text),
    "null until something is said",
);
const MODEL: Shape = Shape::Named("model");
const LEVEL: Shape = Shape::Named("thinkingLevel");

/// All commands, in the order of the page.
pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "initialize",
        help: "Says what the client can do. With the capability `ui` it is asked questions; without it they are denied at once.",
        members: &[sometimes(
            "capabilities",
            Shape::List(&Shape::Text),
            "`ui`: a person answers questions",
        )],
        data: Data::Value(Shape::Object(&[
            always("name", Shape::Text, ""),
            always("version", Shape::Text, ""),
        ])),
        example: r#"{"id":"1","type":"initialize","capabilities":["ui"]}"#,
        answer: r#"{"id":"1","type":"response","command":"initialize","success":true,"data":{"name":"pirn","version":"0.1.0"}}"#,
    },
    Command {
        name: "prompt",
        help: "Says something to the model. The answer comes at once; the run is told by events.",
        members: &[
            MESSAGE,
            IMAGES,
            sometimes(
                "streamingBehavior",
                Shape::Choice(&["steer", "followUp"]),
                "what happens while the model is at work; without it the command fails then",
            ),
        ],
        data: DISPOSITION,
        example: r#"{"id":"2","type":"prompt","message":"What is here?"}"#,
        answer: r#"{"id":"2","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}"#,
    },
    Command {
        name: "steer",
        help: "Says something before the model is asked again; starts a run where none goes on.",
        members: &[MESSAGE, IMAGES],
        data: DISPOSITION,
        example: r#"{"type":"steer","message":"Only Rust files"}"#,
        answer: r#"{"type":"response","command":"steer","success":true,"data":{"disposition":"started"}}"#,
    },
    Command {
        name: "follow_up",
        help: "Says something when the model would stop; starts a run where none goes on.",
        members: &[MESSAGE, IMAGES],
        data: DISPOSITION,
        example: r#"{"type":"follow_up","message":"Then count them"}"#,
        answer: r#"{"type":"response","command":"follow_up","success":true,"data":{"disposition":"started"}}"#,
    },
    Command {
        name: "abort",
        help: "Stops the run. Answered when all is still.",
        members: &[],
        data: Data::Nothing,
        example: r#"{"type":"abort"}"#,
        answer: r#"{"type":"response","command":"abort","success":true}"#,
    },
    Command {
        name: "clear_queue",
        help: "Takes back what waits to be said, and gives it.",
        members: &[],
        data: Data::Value(Shape::Object(&[
            always("steering", Shape::List(&Shape::Text), ""),
            always("followUp", Shape::List(&Shape::Text), ""),
        ])),
        example: r#"{"type":"clear_queue"}"#,
        answer: r#"{"type":"response","command":"clear_queue","success":true,"data":{"steering":[],"followUp":[]}}"#,
    },
    Command {
        name: "get_state",
        help: "What the conversation is like now.",
        members: &[],
        data: Data::Value(Shape::Object(&[
            always("model", MODEL, ""),
            always("thinkingLevel", LEVEL, ""),
            always("isStreaming", Shape::Flag, "whether a run goes on"),
            always("isCompacting", Shape::Flag, ""),
            always("steeringMode", MODE.shape, ""),
            always("followUpMode", MODE.shape, ""),
            FILE,
            always("sessionId", Shape::Text, ""),
            always("sessionName", Shape::Maybe(&Shape::Text), ""),
            always("autoCompactionEnabled", Shape::Flag, ""),
            always("autoRetryEnabled", Shape::Flag, ""),
            always("messageCount", Shape::Count, ""),
            always("pendingMessageCount", Shape::Count, "what waits to be said"),
        ])),
        example: r#"{"type":"get_state"}"#,
        answer: r#"{"type":"response","command":"get_state","success":true,"data":{"model":{"id":"scripted","name":"scripted","provider":"desk","api":"openai-completions","baseUrl":"http://127.0.0.1:8080/v1","contextWindow":128000,"maxTokens":16384},"thinkingLevel":"off","isStreaming":false,"isCompacting":false,"steeringMode":"one-at-a-time","followUpMode":"one-at-a-time","sessionFile":"/home/me/.pirn/sessions/one.jsonl","sessionId":"0193a5","sessionName":null,"autoCompactionEnabled":true,"autoRetryEnabled":true,"messageCount":7,"pendingMessageCount":0}}"#,
    },
    Command {
        name: "get_messages",
        help: "What the model reads.",
        members: &[],
        data: Data::Value(Shape::Object(&[always(
            "messages",
            Shape::List(&Shape::Named("message")),
            "",
        )])),
        example: r#"{"type":"get_messages"}"#,
        answer: r#"{"type":"response","command":"get_messages","success":true,"data":{"messages":[{"role":"user","content":"What is here?","timestamp":1767225600000}]}}"#,
    },
    Command {
        name: "get_entries",
        help: "The session's entries on the current branch, or those after one of them.",
        members: &[sometimes(
            "since",
            Shape::Text,
            "only what came after this entry",
        )],
        data: Data::Value(Shape::Object(&[
            always("entries", Shape::List(&Shape::Named("entry")), ""),
            LEAF,
        ])),
        example: r#"{"type":"get_entries"}"#,
        answer: r#"{"type":"response","command":"get_entries","success":true,"data":{"entries":[{"id":"0a1b2c3d","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","type":"model_change","provider":"desk","modelId":"scripted"}],"leafId":"0a1b2c3d"}}"#,
    },
    Command {
        name: "get_tree",
        help: "All entries of the session, each with those after it.",
        members: &[],
        data: Data::Value(Shape::Object(&[
            always(
                "tree",
                Shape::List(&Shape::Named("treeNode")),
                "the first entries",
            ),
            LEAF,
        ])),
        example: r#"{"type":"get_tree"}"#,
        answer: r#"{"type":"response","command":"get_tree","success":true,"data":{"tree":[{"entry":{"id":"0a1b2c3d","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","type":"model_change","provider":"desk","modelId":"scripted"},"children":[]}],"leafId":"0a1b2c3d"}}"#,
    },
    Command {
        name: "get_session_stats",
        help: "Sums of the session.",
        members: &[],
        data: Data::Value(Shape::Object(&[
            FILE,
            always("sessionId", Shape::Text, ""),
            always("userMessages", Shape::Count, ""),
            always("assistantMessages", Shape::Count, ""),
            always("toolCalls", Shape::Count, ""),
            always("toolResults", Shape::Count, ""),
            always("totalMessages", Shape::Count, ""),
            always(
                "tokens",
                Shape::Object(&[
                    always("input", Shape::Count, ""),
                    always("output", Shape::Count, ""),
                    always("cacheRead", Shape::Count, ""),
                    always("cacheWrite", Shape::Count, ""),
                    always("total", Shape::Count, ""),
                ]),
                "of all requests of the session",
            ),
            always("cost", Shape::Number, "in US dollars"),
            always(
                "contextUsage",
                Shape::Object(&[
                    always(
                        "tokens",
                        Shape::Maybe(&Shape::Count),
                        "null right after the conversation was made shorter",
                    ),
                    always("contextWindow", Shape::Count, ""),
                    always("percent", Shape::Maybe(&Shape::Count), ""),
                ]),
                "what the next request holds",
            ),
        ])),
        example: r#"{"type":"get_session_stats"}"#,
        answer: r#"{"type":"response","command":"get_session_stats","success":true,"data":{"sessionFile":"/home/me/.pirn/sessions/one.jsonl","sessionId":"0193a5","userMessages":3,"assistantMessages":3,"toolCalls":0,"toolResults":0,"totalMessages":7,"tokens":{"input":30,"output":6,"cacheRead":0,"cacheWrite":0,"total":36},"cost":0.000042,"contextUsage":{"tokens":900,"contextWindow":128000,"percent":0}}}"#,
    },
    Command {
        name: "get_last_assistant_text",
        help: "The text of the last reply; null where there is none.",
        members: &[],
        data: Data::Value(Shape::Object(&[always(
            "text",
            Shape::Maybe(&Shape::Text),
            "",
        )])),
        example: r#"{"type":"get_last_assistant_text"}"#,
        answer: r#"{"type":"response","command":"get_last_assistant_text","success":true,"data":{"text":"Nothing is here."}}"#,
    },
    Command {
        name: "get_commands",
        help: "The commands that a message may begin with.",
        members: &[],
        data: Data::Value(Shape::Object(&[always(
            "commands",
            Shape::List(&Shape::Any),
            "",
        )])),
        example: r#"{"type":"get_commands"}"#,
        answer: r#"{"type":"response","command":"get_commands","success":true,"data":{"commands":[]}}"#,
    },
    Command {
        name: "get_available_models",
        help: "The models that can be asked.",
        members: &[],
        data: Data::Value(Shape::Object(&[always("models", Shape::List(&MODEL), "")])),
        example: r#"{"type":"get_available_models"}"#,
        answer: r#"{"type":"response","command":"get_available_models","success":true,"data":{"models":[{"id":"scripted","name":"scripted","provider":"desk","api":"openai-completions","baseUrl":"http://127.0.0.1:8080/v1","contextWindow":128000,"maxTokens":16384}]}}"#,
    },
    Command {
        name: "set_model",
        help: "Goes on with another model.",
        members: &[
            always("provider", Shape::Text, ""),
            always("modelId", Shape::Text, ""),
        ],
        data: Data::Value(MODEL),
        example: r#"{"type":"set_model","provider":"desk","modelId":"scripted"}"#,
        answer: r#"{"type":"response","command":"set_model","success":true,"data":{"id":"scripted","name":"scripted","provider":"desk","api":"openai-completions","baseUrl":"http://127.0.0.1:8080/v1","contextWindow":128000,"maxTokens":16384}}"#,
    },
    Command {
        name: "cycle_model",
        help: "Goes on with the next model; null where there is only one.",
        members: &[],
        data: Data::Value(Shape::Maybe(&Shape::Object(&[
            always("model", MODEL, ""),
            always("thinkingLevel", LEVEL, ""),
            always("isScoped", Shape::Flag, ""),
        ]))),
        example: r#"{"type":"cycle_model"}"#,
        answer: r#"{"type":"response","command":"cycle_model","success":true,"data":null}"#,
    },
    Command {
        name: "set_thinking_level",
        help: "Lets the model think more or less. A level that the model lacks becomes the nearest that it has.",
        members: &[always("level", LEVEL, "")],
        data: Data::Nothing,
        example: r#"{"type":"set_thinking_level","level":"high"}"#,
        answer: r#"{"type":"response","command":"set_thinking_level","success":true}"#,
    },
    Command {
        name: "cycle_thinking_level",
        help: "Takes the next level; null where there is only one.",
        members: &[],
        data: Data::Value(Shape::Maybe(&Shape::Object(&[always("level", LEVEL, "")]))),
        example: r#"{"type":"cycle_thinking_level"}"#,
        answer: r#"{"type":"response","command":"cycle_thinking_level","success":true,"data":null}"#,
    },
    Command {
        name: "get_available_thinking_levels",
        help: "The levels that the model has.",
        members: &[],
        data: Data::Value(Shape::Object(&[always("levels", Shape::List(&LEVEL), "")])),
        example: r#"{"type":"get_available_thinking_levels"}"#,
        answer: r#"{"type":"response","command":"get_available_thinking_levels","success":true,"data":{"levels":["off"]}}"#,
    },
    Command {
        name: "set_steering_mode",
        help: "How steering messages are said that wait.",
        members: &[MODE],
        data: Data::Nothing,
        example: r#"{"type":"set_steering_mode","mode":"all"}"#,
        answer: r#"{"type":"response","command":"set_steering_mode","success":true}"#,
    },
    Command {
        name: "set_follow_up_mode",
        help: "How messages are said that wait for the model to stop.",
        members: &[MODE],
        data: Data::Nothing,
        example: r#"{"type":"set_follow_up_mode","mode":"one-at-a-time"}"#,
        answer: r#"{"type":"response","command":"set_follow_up_mode","success":true}"#,
    },
    Command {
        name: "compact",
        help: "Makes the conversation shorter. Answered when it is.",
        members: &[sometimes(
            "customInstructions",
            Shape::Text,
            "what the summary should dwell on",
        )],
        data: Data::Value(Shape::Named("compaction")),
        example: r#"{"type":"compact","customInstructions":"numbers"}"#,
        answer: r#"{"type":"response","command":"compact","success":true,"data":{"summary":"To count.","firstKeptEntryId":"0a1b2c3d","tokensBefore":41000,"estimatedTokensAfter":21000,"usage":{"input":10,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":12,"cost":{"input":0.00001,"output":0.000004,"cacheRead":0.0,"cacheWrite":0.0,"total":0.000014}},"details":{"readFiles":[],"modifiedFiles":[]}}}"#,
    },
    Command {
        name: "set_auto_compaction",
        help: "Whether the conversation is made shorter by itself.",
        members: &[ENABLED],
        data: Data::Nothing,
        example: r#"{"type":"set_auto_compaction","enabled":false}"#,
        answer: r#"{"type":"response","command":"set_auto_compaction","success":true}"#,
    },
    Command {
        name: "set_auto_retry",
        help: "Whether failed replies are asked for again.",
        members: &[ENABLED],
        data: Data::Nothing,
        example: r#"{"type":"set_auto_retry","enabled":true}"#,
        answer: r#"{"type":"response","command":"set_auto_retry","success":true}"#,
    },
    Command {
        name: "abort_retry",
        help: "Does not wait for the next try.",
        members: &[],
        data: Data::Nothing,
        example: r#"{"type":"abort_retry"}"#,
        answer: r#"{"type":"response","command":"abort_retry","success":true}"#,
    },
    Command {
        name: "bash",
        help: "Runs a command of the user's own, without asking. Answered when it has ended; what it prints is told by `bash_execution_update`.",
        members: &[
            always("command", Shape::Text, ""),
            sometimes(
                "excludeFromContext",
                Shape::Flag,
                "whether the model is kept from reading it",
            ),
        ],
        data: Data::Value(Shape::Object(&[
            always("output", Shape::Text, "the end of it, where it is long"),
            always(
                "exitCode",
                Shape::Maybe(&Shape::Integer),
                "null where it was stopped",
            ),
            always("cancelled", Shape::Flag, ""),
            always("truncated", Shape::Flag, ""),
            always(
                "fullOutputPath",
                Shape::Maybe(&Shape::Text),
                "where all of it is",
            ),
        ])),
        example: r#"{"id":"3","type":"bash","command":"echo from the user"}"#,
        answer: r#"{"id":"3","type":"response","command":"bash","success":true,"data":{"output":"from the user\n","exitCode":0,"cancelled":false,"truncated":false,"fullOutputPath":null}}"#,
    },
    Command {
        name: "abort_bash",
        help: "Stops the user's own command.",
        members: &[],
        data: Data::Nothing,
        example: r#"{"type":"abort_bash"}"#,
        answer: r#"{"type":"response","command":"abort_bash","success":true}"#,
    },
    Command {
        name: "set_session_name",
        help: "Gives the session a name.",
        members: &[always("name", Shape::Text, "not empty")],
        data: Data::Nothing,
        example: r#"{"type":"set_session_name","name":"parser work"}"#,
        answer: r#"{"type":"response","command":"set_session_name","success":true}"#,
    },
    Command {
        name: "get_fork_messages",
        help: "What the user said, where a fork may begin.",
        members: &[],
        data: Data::Value(Shape::Object(&[always(
            "messages",
            Shape::List(&Shape::Object(&[
                always("entryId", Shape::Text, ""),
                always("text", Shape::Text, ""),
            ])),
            "",
        )])),
        example: r#"{"type":"get_fork_messages"}"#,
        answer: r#"{"type":"response","command":"get_fork_messages","success":true,"data":{"messages":[{"entryId":"0a1b2c3d","text":"What is here?"}]}}"#,
    },
    Command {
        name: "fork",
        help: "Goes on with a new session from before a message of the user, and gives that message back to be said otherwise.",
        members: &[always("entryId", Shape::Text, "one of `get_fork_messages`")],
        data: Data::Value(Shape::Object(&[always("text", Shape::Text, ""), CANCELLED])),
        example: r#"{"type":"fork","entryId":"ENTRY"}"#,
        answer: r#"{"type":"response","command":"fork","success":true,"data":{"text":"What is here?","cancelled":false}}"#,
    },
    Command {
        name: "clone",
        help: "Goes on with a new session that says the same up to here.",
        members: &[],
        data: Data::Value(Shape::Object(&[CANCELLED])),
        example: r#"{"type":"clone"}"#,
        answer: r#"{"type":"response","command":"clone","success":true,"data":{"cancelled":false}}"#,
    },
    Command {
        name: "switch_session",
        help: "Goes on with another session of the same folder.",
        members: &[always("sessionPath", Shape::Text, "its file")],
        data: Data::Value(Shape::Object(&[CANCELLED])),
        example: r#"{"type":"switch_session","sessionPath":"SESSION"}"#,
        answer: r#"{"type":"response","command":"switch_session","success":true,"data":{"cancelled":false}}"#,
    },
    Command {
        name: "new_session",
        help: "Goes on with a session in which nothing was said.",
        members: &[sometimes(
            "parentSession",
            Shape::Text,
            "a file to name as its origin",
        )],
        data: Data::Value(Shape::Object(&[CANCELLED])),
        example: r#"{"type":"new_session"}"#,
        answer: r#"{"type":"response","command":"new_session","success":true,"data":{"cancelled":false}}"#,
    },
    Command {
        name: "export_html",
        help: "Writes the conversation to one HTML page, which shows all of it: results of tools, too.",
        members: &[sometimes(
            "outputPath",
            Shape::Text,
            "the page; without it, one in the folder that is named after the session",
        )],
        data: Data::Value(Shape::Object(&[always("path", Shape::Text, "the page")])),
        example: r#"{"type":"export_html","outputPath":"page.html"}"#,
        answer: r#"{"type":"response","command":"export_html","success":true,"data":{"path":"/srv/project/page.html"}}"#,
    },
];
