//! Medians and percentiles of measured values.

/// Measured values of one figure.
#[derive(Debug, Clone, Default)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    pub(crate) fn new(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Self(values)
    }

    pub(crate) fn median(&self) -> f64 {
        self.at(50)
    }

    pub(crate) fn p95(&self) -> f64 {
        self.at(95)
    }

    pub(crate) fn p99(&self) -> f64 {
        self.at(99)
    }

    fn at(&self, percent: usize) -> f64 {
        let index = (self.0.len() * percent / 100).min(self.0.len().saturating_sub(1));
        self.0.get(index).copied().unwrap_or(f64::NAN)
    }
}

/// Runs `work` as often as told, after some runs that do not count, and keeps what it measured.
pub(crate) fn sample<E>(
    runs: usize,
    mut work: impl FnMut() -> Result<f64, E>,
) -> Result<Samples, E> {
    for _ in 0..runs.div_ceil(10) {
        work()?;
    }
    (0..runs)
        .map(|_| work())
        .collect::<Result<Vec<_>, _>>()
        .map(Samples::new)
}
