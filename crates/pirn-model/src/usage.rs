//! What models cost: three types, so that none is taken for another.

use serde::{Deserialize, Serialize};

/// What one reply used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RequestUsage {
    /// Tokens that were read, those from and for the cache excluded.
    pub input: u64,
    /// Tokens that were written, thoughts included.
    pub output: u64,
    /// Tokens that came from the cache.
    pub cache_read: u64,
    /// Tokens that were put into the cache.
    pub cache_write: u64,
    /// The part of `cache_write` that stays for an hour.
    #[serde(rename = "cacheWrite1h", skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<u64>,
    /// The part of `output` that was thought.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
    /// All of them together.
    pub total_tokens: u64,
    /// What it cost, in US dollars.
    pub cost: Cost,
}

impl RequestUsage {
    /// Tokens that the model read, wherever they came from.
    pub fn read(&self) -> u64 {
        self.input
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write)
    }

    /// Sets the sum, where the vendor gives none.
    pub fn complete(&mut self) {
        if self.total_tokens == 0 {
            self.total_tokens = self.read().saturating_add(self.output);
        }
    }
}

/// An amount in US dollars, by what it was paid for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Cost {
    /// For tokens that were read.
    pub input: f64,
    /// For tokens that were written.
    pub output: f64,
    /// For reading from the cache.
    pub cache_read: f64,
    /// For putting into the cache.
    pub cache_write: f64,
    /// The sum of all of it.
    pub total: f64,
}

/// What a session used so far. Says nothing about the size of its context.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SessionUsage {
    /// Tokens that were read.
    pub input: u64,
    /// Tokens that were written.
    pub output: u64,
    /// Tokens that came from the cache.
    pub cache_read: u64,
    /// Tokens that were put into the cache.
    pub cache_write: u64,
    /// What it cost, in US dollars.
    pub cost: f64,
}

impl std::ops::AddAssign<&RequestUsage> for SessionUsage {
    fn add_assign(&mut self, request: &RequestUsage) {
        self.input = self.input.saturating_add(request.input);
        self.output = self.output.saturating_add(request.output);
        self.cache_read = self.cache_read.saturating_add(request.cache_read);
        self.cache_write = self.cache_write.saturating_add(request.cache_write);
        self.cost += request.cost.total;
    }
}

/// How full the context is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextUsage {
    /// Tokens of the next request; `None` where nothing is known, such as right after a compaction.
    pub tokens: Option<u64>,
    /// What the model can hold.
    pub window: u64,
}

/// Prices in US dollars for a million tokens.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Prices {
    /// For tokens that are read.
    pub input: f64,
    /// For tokens that are written.
    pub output: f64,
    /// For reading from the cache.
    pub cache_read: f64,
    /// For putting into the cache.
    pub cache_write: f64,
    /// Prices of larger requests.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<PriceTier>,
}

/// Prices of requests that read more than so many tokens.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PriceTier {
    /// The tier begins above this.
    pub input_tokens_above: u64,
    /// For tokens that are read.
    pub input: f64,
    /// For tokens that are written.
    pub output: f64,
    /// For reading from the cache.
    pub cache_read: f64,
    /// For putting into the cache.
    pub cache_write: f64,
}

/// Prices are per million tokens.
const TOKENS_PRICED: f64 = 1_000_000.0;

impl Prices {
    /// What a reply costs: the highest tier that it reaches prices all of it.
    pub fn cost(&self, usage: &RequestUsage) -> Cost {
        let read = usage.read();
        let tier = self
            .tiers
            .iter()
            .filter(|tier| read > tier.input_tokens_above)
            .max_by_key(|tier| tier.input_tokens_above);
        let (input, output, cache_read, cache_write) = match tier {
            Some(tier) => (tier.input, tier.output, tier.cache_read, tier.cache_write),
            None => (self.input, self.output, self.cache_read, self.cache_write),
        };
        let cost = Cost {
            input: amount(usage.input, input),
            output: amount(usage.output, output),
            cache_read: amount(usage.cache_read, cache_read),
            cache_write: amount(usage.cache_write, cache_write),
            total: 0.0,
        };
        Cost {
            total: cost.input + cost.output + cost.cache_read + cost.cache_write,
            ..cost
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "no request has 2^53 tokens")]
fn amount(tokens: u64, price: f64) -> f64 {
    tokens as f64 * price / TOKENS_PRICED
}

#[cfg(test)]
mod tests;
