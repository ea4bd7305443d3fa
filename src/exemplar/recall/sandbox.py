"""What a process that runs a learner may not ask of the kernel: a seccomp filter, on Linux x86-64.

The audit hook (`strict_worker`) sees what goes through Python's own functions. Native code and Python's lesser known corners go
past it: torch's file functions, named semaphores, SQLite, times and modes of files, priorities of other processes. The filter
stops those for everything in the process, threads included, and cannot be taken off again.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys

NO_NEW_PRIVILEGES, SET_SECCOMP, FILTER = 38, 22, 2
ARCHITECTURE, X32 = 0xC000003E, 0x40000000
ALLOW, REFUSE = 0x7FFF0000, 0x00050000
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER_AT, ARCHITECTURE_AT, ARGUMENTS_AT = 0, 4, 16
THREAD = 0x10000  # CLONE_THREAD
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC

REFUSED = {
    "other processes": {
        "fork": 57, "vfork": 58, "execve": 59, "execveat": 322, "kill": 62, "tkill": 200, "rt_sigqueueinfo": 129,
        "rt_tgsigqueueinfo": 297, "pidfd_send_signal": 424, "pidfd_open": 434, "pidfd_getfd": 438, "ptrace": 101,
        "process_vm_readv": 310, "process_vm_writev": 311, "setpriority": 141, "sched_setaffinity": 203,
        "sched_setparam": 142, "sched_setscheduler": 144, "sched_setattr": 314, "ioprio_set": 251, "setpgid": 109,
    },
    "sockets and shared memory": {
        "socket": 41, "socketpair": 53, "connect": 42, "bind": 49, "shmget": 29, "shmat": 30, "semget": 64, "semop": 65,
        "msgget": 68, "msgsnd": 69, "mq_open": 240, "add_key": 248, "request_key": 249, "keyctl": 250,
    },
    "files": {
        "creat": 85, "truncate": 76, "mkdir": 83, "mkdirat": 258, "rmdir": 84, "mknod": 133, "mknodat": 259, "rename": 82,
        "renameat": 264, "renameat2": 316, "link": 86, "linkat": 265, "symlink": 88, "symlinkat": 266, "unlink": 87,
        "unlinkat": 263, "chmod": 90, "fchmod": 91, "fchmodat": 268, "fchmodat2": 452, "chown": 92, "fchown": 93,
        "lchown": 94, "fchownat": 260, "utime": 132, "utimes": 235, "futimesat": 261, "utimensat": 280, "setxattr": 188,
        "lsetxattr": 189, "fsetxattr": 190, "removexattr": 197, "lremovexattr": 198, "fremovexattr": 199,
        "setxattrat": 463, "removexattrat": 466,
    },
    "the machine": {
        "io_uring_setup": 425, "bpf": 321, "perf_event_open": 298, "unshare": 272, "setns": 308, "mount": 165,
        "sethostname": 170, "setdomainname": 171, "settimeofday": 164, "clock_settime": 227, "adjtimex": 159,
    },
}  # fmt: skip
ABSENT = {"clone3": 435, "openat2": 437}  # their arguments lie behind a pointer: callers fall back to clone and openat
FLAGS_REFUSED = {2: 1, 257: 2}  # open and openat: which argument holds the flags
ONLY_OF_ITSELF = (302,)  # prlimit64: the first argument is a process, 0 for this one


def is_available() -> bool:
    """Whether this machine has the filter."""
    return sys.platform == "linux" and platform.machine() == "x86_64"


def close_off() -> bool:
    """Put the filter on this process, for good; whether that was possible."""
    if not is_available():
        return False
    library = ctypes.CDLL(None, use_errno=True)
    program = _program()
    content = ctypes.create_string_buffer(program, len(program))
    head = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(content)))
    if library.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        return False
    return bool(library.prctl(SET_SECCOMP, FILTER, ctypes.byref(head), 0, 0) == 0)


def _program() -> bytes:
    """The filter as instructions of the kernel's packet filter: (code, skip if true, skip if false, value) each."""
    refuse, absent = REFUSE | errno.EPERM, REFUSE | errno.ENOSYS
    steps = [
        (LOAD, 0, 0, ARCHITECTURE_AT), (EQUAL, 1, 0, ARCHITECTURE), (RETURN, 0, 0, refuse),
        (LOAD, 0, 0, NUMBER_AT), (AT_LEAST, 0, 1, X32), (RETURN, 0, 0, refuse),
    ]  # fmt: skip
    for number in sorted(number for group in REFUSED.values() for number in group.values()):
        steps += [(EQUAL, 0, 1, number), (RETURN, 0, 0, refuse)]
    for number in sorted(ABSENT.values()):
        steps += [(EQUAL, 0, 1, number), (RETURN, 0, 0, absent)]
    for number, place in FLAGS_REFUSED.items():
        flags = ARGUMENTS_AT + 8 * place
        steps += [(EQUAL, 0, 4, number), (LOAD, 0, 0, flags), (ANY_BIT, 0, 1, WRITES), (RETURN, 0, 0, refuse),
                  (RETURN, 0, 0, ALLOW)]  # fmt: skip
    for number in ONLY_OF_ITSELF:
        steps += [(EQUAL, 0, 4, number), (LOAD, 0, 0, ARGUMENTS_AT), (EQUAL, 1, 0, 0), (RETURN, 0, 0, refuse),
                  (RETURN, 0, 0, ALLOW)]  # fmt: skip
    clone = 56
    steps += [(EQUAL, 0, 3, clone), (LOAD, 0, 0, ARGUMENTS_AT), (ANY_BIT, 1, 0, THREAD), (RETURN, 0, 0, refuse)]
    steps.append((RETURN, 0, 0, ALLOW))
    return b"".join(struct.pack("HBBI", *step) for step in steps)
