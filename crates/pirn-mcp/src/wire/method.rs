//! What a request was for, as far as its answer is concerned.

use rmcp::model::ClientRequest;

/// The methods whose results are known here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Initialize,
    Discover,
    ListTools,
    CallTool,
    ListResources,
    ListResourceTemplates,
    ReadResource,
    ListPrompts,
    GetPrompt,
    Listen,
    /// Those whose answer says nothing but that it went well.
    Acknowledged,
    /// Everything else; nothing is repaired.
    Other,
}

impl Method {
    pub(super) fn of(request: &ClientRequest) -> Self {
        match request.method() {
            "initialize" => Self::Initialize,
            "server/discover" => Self::Discover,
            "tools/list" => Self::ListTools,
            "tools/call" => Self::CallTool,
            "resources/list" => Self::ListResources,
            "resources/templates/list" => Self::ListResourceTemplates,
            "resources/read" => Self::ReadResource,
            "prompts/list" => Self::ListPrompts,
            "prompts/get" => Self::GetPrompt,
            "subscriptions/listen" => Self::Listen,
            "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => {
                Self::Acknowledged
            }
            _ => Self::Other,
        }
    }

    /// Whether a connection begins with it: nothing else is under way then.
    pub(super) fn is_handshake(self) -> bool {
        matches!(self, Self::Initialize | Self::Discover)
    }

    /// How an error's text calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Initialize => "initialize",
            Self::Discover => "server/discover",
            Self::ListTools => "tools/list",
            Self::CallTool => "tools/call",
            Self::ListResources => "resources/list",
            Self::ListResourceTemplates => "resources/templates/list",
            Self::ReadResource => "resources/read",
            Self::ListPrompts => "prompts/list",
            Self::GetPrompt => "prompts/get",
            Self::Listen => "subscriptions/listen",
            Self::Acknowledged | Self::Other => "the request",
        }
    }
}
