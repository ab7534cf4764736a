//! Confinement and the eval kernel.

mod eval;
mod first;
mod spawn;
mod work;

use anyhow::Result;

use crate::Options;
use crate::report::Report;

pub(crate) fn measure(options: &Options, report: &mut Report) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        spawn::measure(options, report).await?;
        first::measure(options, report).await?;
        eval::measure(options, report).await?;
        work::measure(options, report).await
    })
}
