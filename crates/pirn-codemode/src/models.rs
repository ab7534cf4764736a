//! `models.*`: the seam through which scripts reach a catalog of models, classifiers and image models.
//!
//! The crate knows no provider. A program that does implements [`ModelHost`] and hands it to [`crate::Environment::with_models`]; without
//! one the globals do not exist. Only provider and id of a model cross the seam, so that a script cannot redirect credentials.

mod globals;

use std::fmt;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

pub(crate) use globals::GLOBALS;

/// Answers `models.*`. An error is for wrong input and rejects; a provider's failure is an answer with [`ModelStop::Error`].
pub trait ModelHost: fmt::Debug + Send + Sync + 'static {
    /// The models a query matches, in catalog order.
    fn models(&self, query: ModelQuery) -> BoxFuture<'static, Result<Vec<ModelEntry>, String>>;

    /// Asks a classifier. `cancel` fires when the script is over.
    fn classify(
        &self,
        model: ModelRef,
        request: ClassifyRequest,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<ModelAnswer, String>>;

    /// Asks an image model for images. `cancel` fires when the script is over.
    fn generate_images(
        &self,
        model: ModelRef,
        request: ImageRequest,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<ModelAnswer, String>>;
}

/// What a model is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelType {
    /// Models that hold conversations.
    Chat,
    /// Models that make images.
    Image,
    /// Questions about a state.
    Classifier,
}

/// Which models are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelQuery {
    /// What the model is for.
    pub kind: ModelType,
    /// Of which provider; of any without one.
    pub provider: Option<String>,
    /// With which id; any without one.
    pub id: Option<String>,
    /// Whether models without credentials are left out.
    pub availability: Availability,
}

/// Whether a query is limited to models that can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Availability {
    /// Every model of the catalog.
    Known,
    /// Only models that can be used now.
    Usable,
}

/// A model by its provider and id; whatever else a script says of it is ignored.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ModelRef {
    /// The id of the provider, as `provider/id` has it.
    pub provider: String,
    /// The id of the model at its provider.
    pub id: String,
}

/// A catalog entry. It must hold no credentials and no headers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelEntry {
    /// The id of the provider, as `provider/id` has it.
    pub provider: String,
    /// The id of the model at its provider.
    pub id: String,
    /// Everything else that was given, as it is.
    #[serde(flatten)]
    pub facts: Map<String, Value>,
}

/// What a classifier is asked.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ClassifyRequest {
    /// What the questions are about.
    pub state: Map<String, Value>,
    /// Image blocks `{type, data, mimeType}`.
    #[serde(default)]
    pub images: Vec<Value>,
    /// By id: `{type: "choice" | "score" | "bool", instructions, criteria}`.
    pub questions: Map<String, Value>,
}

/// What an image model is asked.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ImageRequest {
    /// Text and image blocks.
    pub input: Vec<Value>,
}

/// How a model's answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelStop {
    /// It ended as it should.
    Stop,
    /// The provider failed or refused.
    Error,
    /// It was stopped before its end.
    Aborted,
}

/// A model's answer. `answers` of a classifier by question, or `output` blocks of an image model, stand in `content`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelAnswer {
    /// Why the reply ended.
    pub stop_reason: ModelStop,
    /// The provider's message, when it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// The members that are the answer itself, usage included.
    #[serde(flatten)]
    pub content: Map<String, Value>,
}
