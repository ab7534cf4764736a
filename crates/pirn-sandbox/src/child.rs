//! A running child and everything it started.

use std::time::Duration;

use tokio::process::ChildStdin;
use tokio_util::sync::CancellationToken;

use crate::child_supervisor::{ChildSupervisor, Request};
use crate::output::ChildOutput;
use crate::report::SandboxReport;
use crate::sandbox::Sandbox;
use crate::status::ExitStatus;

/// How long killed processes may take to disappear before [`Child::kill_all`] returns all the same: only a process that
/// hangs inside the kernel, or one of another user, takes longer than milliseconds.
pub const KILL_WAIT: Duration = Duration::from_secs(2);

/// A running child and everything it started. Dropping it kills them all.
#[derive(Debug)]
pub struct Child {
    supervisor: ChildSupervisor,
    output: Option<ChildOutput>,
    error_output: Option<ChildOutput>,
    stdin: Option<ChildStdin>,
    sandbox: Option<Sandbox>,
}

impl Child {
    #[cfg_attr(
        not(unix),
        expect(dead_code, reason = "children cannot be started there yet")
    )]
    pub(crate) fn new(
        supervisor: ChildSupervisor,
        output: ChildOutput,
        error_output: Option<ChildOutput>,
        stdin: Option<ChildStdin>,
        sandbox: Option<Sandbox>,
    ) -> Self {
        Self {
            supervisor,
            output: Some(output),
            error_output,
            stdin,
            sandbox,
        }
    }

    /// Takes the reading end of standard output, or of both in merged mode. `None` the second time.
    pub fn take_output(&mut self) -> Option<ChildOutput> {
        self.output.take()
    }

    /// Takes the reading end of standard error in separate mode. `None` the second time and in merged mode.
    pub fn take_error_output(&mut self) -> Option<ChildOutput> {
        self.error_output.take()
    }

    /// Gives the reading end of standard output back, so that [`Child::detach_to`] can go on reading it.
    pub fn give_back_output(&mut self, output: ChildOutput) {
        self.output = Some(output);
    }

    /// Takes the writing end of standard input where it is piped. `None` the second time.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.stdin.take()
    }

    /// Waits for the program itself; its descendants may go on. Can be called again and gives the same answer.
    pub async fn wait(&self) -> ExitStatus {
        self.supervisor.states().wait_main().await
    }

    /// How the program ended, if it has.
    pub fn status(&self) -> Option<ExitStatus> {
        self.supervisor.states().state().main
    }

    /// What confines it; `None` without a sandbox.
    pub fn sandbox_report(&self) -> Option<&SandboxReport> {
        self.sandbox.as_ref()?.report().ok()
    }

    /// What was set aside, until its end was told, of what it had made: hooks and settings that would start programs in the user's
    /// name. One sentence each.
    pub fn set_aside(&self) -> Vec<String> {
        self.supervisor.set_aside()
    }

    /// Whether, by the time the program ended, the kernel had killed processes of the child because all together used more
    /// memory than [`crate::Limits::memory_bytes`]. Known only where the report has [`crate::Layer::CgroupMemory`].
    pub fn was_out_of_memory(&self) -> bool {
        self.supervisor.states().state().out_of_memory
    }

    /// How many processes of the child the kernel has killed so far because all together used more memory than
    /// [`crate::Limits::memory_bytes`]. `None` where the report has no [`crate::Layer::CgroupMemory`], and when all are gone:
    /// then [`Self::was_out_of_memory`] knows more.
    pub fn memory_kills(&self) -> Option<u64> {
        self.supervisor.memory_kills()
    }

    /// Interrupts the program itself, as Ctrl-C would; its descendants get no signal. Does nothing once it has ended.
    pub fn interrupt(&self) {
        self.supervisor.request(Request::Interrupt);
    }

    /// Stops the program and its descendants where they are, so that they use no processor time, until [`Child::thaw`]. Asking
    /// them to end or interrupting the program lets them go on, killing works all the same, and they end with their owner as
    /// always. Where the report has no [`crate::Layer::ProcessNamespace`], a descendant that has left its group and whose parent
    /// still lives goes on.
    pub fn freeze(&self) {
        self.supervisor.request(Request::Freeze);
    }

    /// Lets the program and its descendants go on after [`Child::freeze`]. Does nothing otherwise.
    pub fn thaw(&self) {
        self.supervisor.request(Request::Thaw);
    }

    /// Whether descendants are left after the program's own end. False while the program runs.
    pub fn has_descendants(&self) -> bool {
        let state = self.supervisor.states().state();
        state.main.is_some() && !state.all_gone
    }

    /// Waits until the program and every descendant are gone.
    pub async fn wait_all(&self) {
        self.supervisor.states().wait_all_gone().await;
    }

    /// Asks the program and its descendants to end, and kills those that are left after `grace`. Returns when all are gone,
    /// at the latest [`KILL_WAIT`] after the grace. Somebody has to read the output meanwhile, or a full pipe may keep a
    /// program from ending in order.
    pub async fn terminate(&self, grace: Duration) -> ExitStatus {
        self.supervisor.request(Request::Terminate);
        if tokio::time::timeout(grace, self.supervisor.states().wait_all_gone())
            .await
            .is_err()
        {
            return self.kill_all().await;
        }
        self.supervisor.states().wait_main().await
    }

    /// Kills the program and its descendants. Returns when all are gone, at the latest after [`KILL_WAIT`].
    pub async fn kill_all(&self) -> ExitStatus {
        self.supervisor.request(Request::Kill);
        // What outlasts the wait is beyond our rights or stuck in the kernel; the supervisor goes on trying.
        let _late = tokio::time::timeout(KILL_WAIT, self.supervisor.states().wait_all_gone()).await;
        self.supervisor
            .states()
            .state()
            .main
            .unwrap_or(ExitStatus::Lost)
    }

    /// Lets the program and its descendants live until `lifetime` fires, then kills them. Output that was not taken is read
    /// and thrown away, so that nobody blocks on a full pipe or dies of a closed one.
    pub fn detach_to(self, lifetime: CancellationToken) {
        tokio::spawn(self.live_until(lifetime));
    }

    /// Ends when all are gone, at the latest [`KILL_WAIT`] after `lifetime` fired.
    pub(crate) async fn live_until(self, lifetime: CancellationToken) {
        let Self {
            supervisor,
            output,
            error_output,
            stdin: _,
            sandbox: _,
        } = self;
        let end = async {
            tokio::join!(
                drain(output),
                drain(error_output),
                supervisor.states().wait_all_gone()
            );
        };
        tokio::select! {
            () = end => {}
            () = lifetime.cancelled() => {
                supervisor.request(Request::Kill);
                // What outlasts the wait is killed again when the supervisor is dropped.
                let _late = tokio::time::timeout(KILL_WAIT, supervisor.states().wait_all_gone()).await;
            }
        }
    }
}

async fn drain(output: Option<ChildOutput>) {
    if let Some(mut output) = output {
        output.drain().await;
    }
}
