//! Whether a reply that failed is asked for again, and when.

use std::time::Duration;

use pirn_model::Failure;

/// How often and how soon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryOptions {
    /// Tries after the first one; 0 for none.
    pub retries_max: u32,
    /// Before the first of them; it doubles with each.
    pub base_delay: Duration,
    /// At most, and the longest time that a server may ask for.
    pub delay_max: Duration,
}

impl Default for RetryOptions {
    fn default() -> Self {
        Self {
            retries_max: 3,
            base_delay: Duration::from_secs(2),
            delay_max: Duration::from_mins(1),
        }
    }
}

/// Counts the tries of one request.
#[derive(Debug)]
pub(crate) struct Retry {
    options: RetryOptions,
    failures: u32,
}

/// What becomes of a failure.
#[derive(Debug, PartialEq)]
pub(crate) enum Verdict {
    Again {
        delay: Duration,
        attempt: u32,
        attempts_max: u32,
    },
    /// With the words for the user.
    Never(String),
}

impl Retry {
    pub(crate) fn new(options: RetryOptions) -> Self {
        Self {
            options,
            failures: 0,
        }
    }

    /// A reply came; the next one has all its tries.
    pub(crate) fn succeeded(&mut self) {
        self.failures = 0;
    }

    pub(crate) fn failed(&mut self, failure: &Failure) -> Verdict {
        if !failure.kind.is_retryable() {
            return Verdict::Never(failure.message.clone());
        }
        if let Some(wanted) = failure
            .retry_after
            .filter(|wanted| *wanted > self.options.delay_max)
        {
            return Verdict::Never(format!(
                "{}; the server asks for {} s, and the longest wait is {} s",
                failure.message,
                wanted.as_secs(),
                self.options.delay_max.as_secs()
            ));
        }
        if self.failures >= self.options.retries_max {
            return Verdict::Never(match self.failures {
                0 => failure.message.clone(),
                1 => format!("{}; it was tried twice", failure.message),
                more => format!("{}; it was tried {} times", failure.message, more + 1),
            });
        }
        let doubled = self
            .options
            .base_delay
            .saturating_mul(1 << self.failures.min(16));
        let delay = doubled.min(self.options.delay_max);
        self.failures += 1;
        Verdict::Again {
            delay: delay.max(failure.retry_after.unwrap_or_default()),
            attempt: self.failures,
            attempts_max: self.options.retries_max,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pirn_model::FailureKind;

    #[test]
    fn waits_double_and_servers_are_heeded() {
        let mut retry = Retry::new(RetryOptions::default());
        let mut failure = Failure::new(FailureKind::RateLimit, "slow down");
        let mut delay = |failure: &Failure| match retry.failed(failure) {
            Verdict::Again { delay, .. } => Ok(delay.as_secs()),
            Verdict::Never(words) => Err(words),
        };
        assert_eq!(delay(&failure), Ok(2));
        assert_eq!(delay(&failure), Ok(4));
        failure.retry_after = Some(Duration::from_secs(59));
        assert_eq!(delay(&failure), Ok(59));
        assert_eq!(
            delay(&failure),
            Err("slow down; it was tried 4 times".to_owned())
        );
        failure.retry_after = Some(Duration::from_secs(61));
        let words = "slow down; the server asks for 61 s, and the longest wait is 60 s";
        assert_eq!(delay(&failure), Err(words.to_owned()));
        let denied = Failure::new(FailureKind::Authentication, "no key");
        assert_eq!(delay(&denied), Err("no key".to_owned()));
    }
}
