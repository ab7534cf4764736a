//! What every confined program begins with.

/// `t` makes a try and prints the name of the error, or `through`; a socket that reached nobody but itself tries again.
/// `call` makes a system call by its names on both architectures. Where things are, the environment says.
pub(crate) const PRELUDE: &str = r#"
import ctypes, errno, os, platform, signal, socket, subprocess, sys, time
E = os.environ
WORK, HOME, OUT, OWNER, VICTIM = E["WORK"], E["HOME"], E["OUT"], int(E["OWNER"]), int(E["VICTIM"])
X86 = platform.machine() == "x86_64"
libc = ctypes.CDLL(None, use_errno=True)
def say(text): print(text, flush=True)
def error_name(number): return errno.errorcode.get(number, str(number))
def reached_itself(result): # The kernel may give a socket the very port that it calls.
    if not isinstance(result, socket.socket) or result.family not in (socket.AF_INET, socket.AF_INET6): return False
    try: return result.getsockname() == result.getpeername()
    except OSError: return False
def t(attempt):
    try:
        result = attempt()
        while reached_itself(result): result = attempt()
    except OSError as error: result = error_name(error.errno) if error.errno else "EACCES"
    except subprocess.CalledProcessError as error: result = "EACCES"
    say(result if isinstance(result, str) else "through")
def call(x86, arm, *arguments):
    arguments = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(x86 if X86 else arm), *arguments)
    if result == -1: raise OSError(ctypes.get_errno(), "call")
    return result
def write(path, text="evil", mode="w"):
    with open(path, mode) as file: file.write(text)
def opened(path, flags=os.O_WRONLY):
    os.close(os.open(path, flags))
def read(path, length=64):
    with open(path, "rb") as file: return None if file.read(length) else "EMPTY"
def forked(child):
    pid = os.fork()
    if pid == 0:
        try: code = child() or 0
        except OSError as error: code = error.errno
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
"#;
