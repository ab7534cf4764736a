//! What a command asks its user: the queue, and who shows it on the terminal.

use std::sync::Arc;

use pirn_runtime::FileGrants;
use pirn_settings::add_to_list;
use pirn_tool::{Answer, ApprovalQueue, ApprovalRequest};
use pirn_tui::{Asker, LineQuestions, Reactions};

use crate::browser::Browser;
use crate::consent::Asking;
use crate::event_loop;
use crate::invocation::Invocation;

/// The queue of what a command asks; `None` where nobody can be asked.
pub(crate) fn queue(invocation: &Invocation) -> Option<ApprovalQueue> {
    match invocation.asking() {
        Asking::Possible => Some(match &invocation.host.pirn_home {
            Some(home) => ApprovalQueue::builder()
                .grants(Arc::new(FileGrants::new(home)))
                .build(),
            None => ApprovalQueue::new(),
        }),
        Asking::Impossible => None,
    }
}

/// Shows the questions of this queue until it is dropped. Must be called inside an event loop.
pub(crate) fn show(queue: &ApprovalQueue, asker: Asker, invocation: &Invocation) -> LineQuestions {
    let (browser, host) = (Browser::new(invocation), invocation.host.clone());
    let reactions = Reactions {
        open_page: Arc::new(move |page: &str| {
            browser.open(page).map_err(|error| error.to_string())
        }),
        allow_host: Arc::new(move |rule: &str| add_to_list("sandbox.allowedHosts", rule, &host)),
    };
    LineQuestions::start(queue, asker, reactions)
}

/// Asks one question before anything runs that could ask others. `None` where nobody can be asked.
pub(crate) fn ask_alone(request: ApprovalRequest, invocation: &Invocation) -> Option<Answer> {
    let queue = queue(invocation)?;
    let event_loop = event_loop::on_main_thread().ok()?;
    let answer = event_loop.block_on(async {
        let asker = Asker {
            name: "Pirn",
            screen: None,
        };
        let _questions = show(&queue, asker, invocation);
        queue.ask(request).await.answer
    });
    event_loop.shutdown_background();
    Some(answer)
}
