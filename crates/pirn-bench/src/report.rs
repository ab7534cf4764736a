//! The table and its JSON.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::Serialize;

use crate::stats::Samples;

/// Everything that was measured.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    machine: String,
    rows: Vec<Row>,
    /// What could not be measured, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<&'static str>,
}

/// A row of the table in docs/figures.md.
#[derive(Debug, Serialize)]
struct Row {
    name: &'static str,
    unit: &'static str,
    median: f64,
    p95: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<f64>,
    /// The bar the figure has to stay under; none for a figure that only explains another.
    #[serde(skip_serializing_if = "Option::is_none")]
    bar: Option<f64>,
}

impl Report {
    pub(crate) fn new() -> Self {
        Self {
            machine: machine(),
            rows: Vec::new(),
            notes: Vec::new(),
        }
    }

    pub(crate) fn add(
        &mut self,
        name: &'static str,
        unit: &'static str,
        bar: f64,
        samples: &Samples,
    ) {
        self.rows.push(Row {
            name,
            unit,
            median: samples.median(),
            p95: samples.p95(),
            peer: None,
            bar: Some(bar),
        });
    }

    /// Adds a figure without a bar.
    pub(crate) fn add_plain(&mut self, name: &'static str, unit: &'static str, samples: &Samples) {
        self.rows.push(Row {
            name,
            unit,
            median: samples.median(),
            p95: samples.p95(),
            peer: None,
            bar: None,
        });
    }

    /// Says what could not be measured.
    pub(crate) fn note(&mut self, note: &'static str) {
        self.notes.push(note);
    }

    /// What the peer needs for the same work.
    pub(crate) fn add_peer(&mut self, name: &str, median: f64) {
        if let Some(row) = self.rows.iter_mut().find(|row| row.name == name) {
            row.peer = Some(median);
        }
    }

    pub(crate) fn print(&self) {
        let mut out = std::io::stdout().lock();
        let mut text = format!(
            "{}\n\n{:<26}{:>12}{:>12}{:>10}{:>14}{:>9}\n",
            self.machine, "figure", "median", "p95", "bar", "pi-codemode", "ratio"
        );
        for row in &self.rows {
            let peer = row
                .peer
                .map_or_else(|| "-".to_owned(), |peer| format!("{peer:.1}"));
            let ratio = row.peer.map_or_else(
                || "-".to_owned(),
                |peer| format!("{:.0}x", peer / row.median),
            );
            let verdict = if row.bar.is_some_and(|bar| row.median > bar) {
                "  over the bar"
            } else {
                ""
            };
            let bar = row
                .bar
                .map_or_else(|| "-".to_owned(), |bar| bar.to_string());
            let _infallible = writeln!(
                text,
                "{:<26}{:>12.2}{:>12.2}{bar:>10}{peer:>14}{ratio:>9}{verdict}",
                format!("{} ({})", row.name, row.unit),
                row.median,
                row.p95,
            );
        }
        for note in &self.notes {
            let _infallible = writeln!(text, "{note}");
        }
        // A reader that went away is no failure.
        drop(out.write_all(text.as_bytes()));
    }

    pub(crate) fn write_json(&self, path: &Path) -> Result<()> {
        fs::write(path, serde_json::to_string_pretty(self)?)
            .with_context(|| path.display().to_string())
    }
}

fn machine() -> String {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .map_or("unknown processor", |rest| {
            rest.trim_start_matches([' ', '\t', ':'])
        });
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kilobytes: u64 = memory
        .lines()
        .next()
        .and_then(|line| line.split_whitespace().nth(1)?.parse().ok())
        .unwrap_or(0);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!(
        "{model}, {cores} cores, {} GiB, {} {}",
        kilobytes >> 20,
        std::env::consts::OS,
        kernel.trim()
    )
}
