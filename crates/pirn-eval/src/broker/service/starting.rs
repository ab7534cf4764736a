//! Giving an eval to a worker, and having one ready before it is wanted.

use super::super::active::{Active, Runner, Start, Unread};
use super::super::line_writer::Closed;
use super::super::worker_factory::{FreshMode, ProcessWorker, StartProblem};
use super::Service;
use crate::frame::{Cause, Ended, EngineName, Report};

impl Service {
    /// Starts ahead what the next fresh eval will need. What cannot be started is explained by that eval.
    pub(super) fn warm_up(&mut self) {
        let Ok(factory) = &mut self.factory else {
            return;
        };
        if self.engine == EngineName::Persistent {
            return;
        }
        match factory.fresh_mode() {
            FreshMode::Zygote if self.zygote.is_none() => self.zygote = factory.start_zygote().ok(),
            FreshMode::Once if self.spare.is_none() => {
                self.spare = factory.start_process(EngineName::Fresh).ok();
            }
            FreshMode::Zygote | FreshMode::Once => {}
        }
    }

    /// Gives an eval to a worker.
    pub(super) async fn start(&mut self, start: Start, eval_line: &[u8]) -> Result<(), Closed> {
        let id = start.id.clone();
        let engine = start.engine;
        if let Ok(factory) = &mut self.factory {
            factory.note_start();
        }
        let attached = match engine {
            EngineName::Fresh => self.attach_fresh(start, eval_line),
            EngineName::Persistent => self.attach_live(start, eval_line).await?,
        };
        self.begin(id, attached)?;
        if engine == EngineName::Fresh && self.active.is_some() {
            self.warm_up();
        }
        Ok(())
    }

    /// Gives an eval to a new worker, since the one that had it has not read it.
    pub(super) fn start_anew(&mut self, unread: Unread) -> Result<(), Closed> {
        let Unread { start, eval_line } = unread;
        let id = start.id.clone();
        let attached = match &mut self.factory {
            Ok(factory) => factory
                .start_process(start.engine)
                .map(|worker| give(&eval_line, by_process(start, worker))),
            Err(refusal) => Err(StartProblem::Other(refusal.clone())),
        };
        self.begin(id, attached)
    }

    fn begin(&mut self, id: String, attached: Result<Active, StartProblem>) -> Result<(), Closed> {
        let active = match attached {
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
                    decisions: Vec::new(),
                    set_aside: Vec::new(),
                }));
            }
        };
        let is_ready = active.interpreter.is_some();
        self.active = Some(active);
        if is_ready {
            self.report_started()?;
        }
        Ok(())
    }

    fn attach_fresh(&mut self, start: Start, eval_line: &[u8]) -> Result<Active, StartProblem> {
        let factory = self
            .factory
            .as_mut()
            .map_err(|refusal| StartProblem::Other(refusal.clone()))?;
        match factory.fresh_mode() {
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
                let (zygote, pipes) = if let Some(kept) = kept {
                    kept
                } else {
                    let zygote = factory.start_zygote()?;
                    let forked = zygote.fork(&start.id).map_err(|error| {
                        StartProblem::Other(format!("The interpreter does not listen: {error}."))
                    })?;
                    (zygote, forked)
                };
                let runner = Runner::Fork {
                    zygote_key: zygote.key,
                };
                self.zygote = Some(zygote);
                Ok(give(eval_line, Active::new(start, runner, pipes)))
            }
            FreshMode::Once => {
                // One that died while nothing ran has read nothing of the program either.
                let spare = self.spare.take().and_then(|mut spare| {
                    let is_given = spare.pipes.inbox.send(eval_line).is_ok();
                    is_given.then_some(spare)
                });
                if let Some(worker) = spare {
                    let unread = Unread {
                        start: start.clone(),
                        eval_line: eval_line.to_owned(),
                    };
                    let mut active = by_process(start, worker);
                    active.unread = Some(unread);
                    return Ok(active);
                }
                let worker = factory.start_process(EngineName::Fresh)?;
                Ok(give(eval_line, by_process(start, worker)))
            }
        }
    }

    async fn attach_live(
        &mut self,
        start: Start,
        eval_line: &[u8],
    ) -> Result<Result<Active, StartProblem>, Closed> {
        if let Some(taken) = self.pool.take(&start.branch).await {
            let mut active = by_process(start, taken.worker);
            active.is_reused = true;
            active.begin(taken.interpreter);
            return Ok(Ok(give(eval_line, active)));
        }
        if let Some(branch) = self.pool.make_room() {
            let reason = "it was ended to make room for others".to_owned();
            self.report(&Report::BranchLost { branch, reason })?;
        }
        Ok(match &mut self.factory {
            Ok(factory) => factory
                .start_process(EngineName::Persistent)
                .map(|worker| give(eval_line, by_process(start, worker))),
            Err(refusal) => Err(StartProblem::Other(refusal.clone())),
        })
    }
}

/// Gives the worker its program. It may read that before it has said that it is ready, which saves a way there and back; that it
/// is gone shows in another way.
fn give(eval_line: &[u8], mut active: Active) -> Active {
    let _gone = active.pipes.inbox.send(eval_line);
    active
}

fn by_process(start: Start, worker: ProcessWorker) -> Active {
    let ProcessWorker { key, child, pipes } = worker;
    Active::new(start, Runner::Process { key, child }, pipes)
}
