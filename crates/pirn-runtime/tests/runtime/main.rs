//! The runtime as its embedders use it.

mod embedding;
