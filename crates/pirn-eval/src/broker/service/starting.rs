//! Giving an eval to a worker, and having one ready before it is wanted.

use super::super::active::{Active, Runner, Start};
use super::super::outlet::Closed;
use super::super::plant::{FreshMode, ProcessWorker, StartProblem};
use super::Service;
use crate::frame::{Cause, Ended, EngineName, Report};

impl Service {
    /// Starts ahead what the next fresh eval will need. What cannot be started is explained by that eval.
    pub(super) fn warm_up(&mut self) {
        let Ok(plant) = &mut self.plant else { return };
        if self.engine == EngineName::Persistent {
            return;
        }
        match plant.fresh_mode() {
            FreshMode::Zygote if self.zygote.is_none() => self.zygote = plant.start_zygote().ok(),
            FreshMode::Once if self.spare.is_none() => {
                self.spare = plant.start_process(EngineName::Fresh).ok();
            }
            FreshMode::Zygote | FreshMode::Once => {}
        }
    }

    /// Gives an eval to a worker.
    pub(super) async fn start(&mut self, start: Start, eval_line: &[u8]) -> Result<(), Closed> {
        let id = start.id.clone();
        let engine = start.engine;
        if let Ok(plant) = &mut self.plant {
            plant.note_start();
        }
        let attached = match engine {
            EngineName::Fresh => self.attach_fresh(start),
            EngineName::Persistent => self.attach_live(start).await?,
        };
        let mut active = match attached {
            Ok(active) => active,
            Err(problem) => {
                let (cause, detail) = match problem {
                    StartProblem::NoInterpreter(detail) => (Cause::NoInterpreter, detail),
                    StartProblem::Other(detail) => (Cause::NotStarted, detail),
                };
                return self.report(&Report::Ended(Ended {
                    id,
                    cause,
                    detail,
                    is_cut: false,
                }));
            }
        };
        // It may read this before it has said that it is ready, which saves a way there and back.
        let _gone = active.wires.inbox.send(eval_line);
        let is_ready = active.interpreter.is_some();
        self.active = Some(active);
        if is_ready {
            self.report_started()?;
        }
        if engine == EngineName::Fresh {
            self.warm_up();
        }
        Ok(())
    }

    fn attach_fresh(&mut self, start: Start) -> Result<Active, StartProblem> {
        let plant = self
            .plant
            .as_mut()
            .map_err(|refusal| StartProblem::Other(refusal.clone()))?;
        match plant.fresh_mode() {
            FreshMode::Zygote => {
                // One that was killed while nothing ran listens no more, and its end may not be known yet. Nothing of the
                // program has run, so another one may have it.
                let kept = self.zygote.take().and_then(|zygote| {
                    let forked = zygote.fork(&start.id);
                    if forked.is_err() {
                        zygote.kill();
                    }
                    Some((zygote, forked.ok()?))
                });
                let (zygote, wires) = if let Some(kept) = kept {
                    kept
                } else {
                    let zygote = plant.start_zygote()?;
                    let forked = zygote.fork(&start.id).map_err(|error| {
                        StartProblem::Other(format!("The interpreter does not listen: {error}."))
                    })?;
                    (zygote, forked)
                };
                let runner = Runner::Fork {
                    zygote_key: zygote.key,
                };
                self.zygote = Some(zygote);
                Ok(Active::new(start, runner, wires))
            }
            FreshMode::Once => {
                let worker = match self.spare.take() {
                    Some(worker) => worker,
                    None => plant.start_process(EngineName::Fresh)?,
                };
                Ok(by_process(start, worker))
            }
        }
    }

    async fn attach_live(&mut self, start: Start) -> Result<Result<Active, StartProblem>, Closed> {
        if let Some(taken) = self.pool.take(&start.branch).await {
            let mut active = by_process(start, taken.worker);
            active.is_reused = true;
            active.begin(taken.interpreter);
            return Ok(Ok(active));
        }
        if let Some(branch) = self.pool.make_room() {
            let reason = "it was ended to make room for others".to_owned();
            self.report(&Report::BranchLost { branch, reason })?;
        }
        Ok(match &mut self.plant {
            Ok(plant) => plant
                .start_process(EngineName::Persistent)
                .map(|worker| by_process(start, worker)),
            Err(refusal) => Err(StartProblem::Other(refusal.clone())),
        })
    }
}

fn by_process(start: Start, worker: ProcessWorker) -> Active {
    let ProcessWorker { key, child, wires } = worker;
    Active::new(start, Runner::Process { key, child }, wires)
}
