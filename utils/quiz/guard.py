"""Run a student's code so that nothing it does can stop the notebook.

An endless loop, a sleep, `sys.exit`, a flood of prints, a question at the keyboard or a changed
global setting ends in a `Ran` value instead. The clock is a Unix timer signal where there is one;
elsewhere (Windows, or off the main thread) the code runs in a worker thread that is told to stop
and, if it does not listen, left behind. What cannot be stopped from inside the process is one
very long call into C.
"""

from __future__ import annotations

import ctypes
import io
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from utils.quiz.surroundings import Stopped, preserved

PRINT_LIMIT = 1_000_000  # characters; a right solution with a few debugging prints stays far below


class TimeUp(BaseException):
    """Raised inside the student's code when its time is over. Not an Exception: few catch it."""


class Flood(BaseException):
    """Raised inside the student's code when it prints without end."""


@dataclass
class Ran:
    """What became of one guarded call."""

    value: Any = None
    error: BaseException | None = None
    slow: bool = False
    flooded: bool = False
    left: bool = False  # sys.exit, quit, os._exit
    asked: bool = False  # input()
    printed: int = 0

    @property
    def ended_well(self) -> bool:
        return not (self.error or self.slow or self.flooded or self.left or self.asked)


class Bin(io.TextIOBase):
    """Takes the prints of the student's code, counts them and keeps nothing."""

    encoding = "utf-8"

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.count += len(text)
        if self.count > PRINT_LIMIT:
            raise Flood
        return len(text)


def guarded(work: Callable[[], Any], seconds: float) -> Ran:
    """Call ``work()`` and say how it ended. Only a Ctrl-C of the user comes out as an exception."""
    bin_ = Bin()
    ran = Ran()
    with preserved(bin_):
        on_main = threading.current_thread() is threading.main_thread()
        if on_main and hasattr(signal, "setitimer"):
            _with_alarm(work, max(seconds, 0.01), ran)
        else:
            _with_worker(work, max(seconds, 0.01), ran)
    ran.printed = bin_.count
    return ran


def _sort(ran: Ran, error: BaseException) -> None:
    """File an exception under what it means."""
    if isinstance(error, TimeUp):
        ran.slow = True
    elif isinstance(error, Flood):
        ran.flooded = True
    elif isinstance(error, Stopped):
        ran.left, ran.asked = not error.by_input, error.by_input
    elif isinstance(error, SystemExit):
        ran.left = True
    else:
        ran.error = error


def _with_alarm(work: Callable[[], Any], seconds: float, ran: Ran) -> None:
    """A timer signal raises TimeUp in the running code.

    Code that swallows it is hit again: on its next line by a trace function, and by the next tick
    of the timer, until it has left the guarded call.
    """
    inside = False
    interrupted = False

    def students_frame(frame: Any) -> bool:
        """Is the call to work() below this frame, or are we in the guard itself?"""
        own = (_with_alarm.__code__, on_alarm.__code__, on_interrupt.__code__)
        return inside and frame is not None and frame.f_code not in own

    def trace(frame: Any, event: str, arg: Any) -> Any:
        if not students_frame(frame):
            return None
        signal.setitimer(signal.ITIMER_REAL, 0.00001, 0.0002)
        raise TimeUp

    def on_alarm(signum: int, frame: Any) -> None:
        if not students_frame(frame):
            return
        ran.slow = True
        caller = frame
        while caller is not None and students_frame(caller):
            caller.f_trace = trace
            caller = caller.f_back
        sys.settrace(trace)
        raise TimeUp

    def on_interrupt(signum: int, frame: Any) -> None:
        nonlocal interrupted
        interrupted = True
        if callable(old_interrupt):
            old_interrupt(signum, frame)

    old_trace = sys.gettrace()
    old_interrupt = signal.getsignal(signal.SIGINT)
    old_alarm = signal.signal(signal.SIGALRM, on_alarm)
    started = time.monotonic()
    old_timer = signal.setitimer(signal.ITIMER_REAL, seconds, 0.001)
    if callable(old_interrupt):
        signal.signal(signal.SIGINT, on_interrupt)
    try:
        inside = True
        ran.value = work()
        inside = False
    except BaseException as error:
        inside = False
        _sort(ran, error)
    finally:
        inside = False
        sys.settrace(old_trace)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old_alarm)
        if callable(old_interrupt):
            signal.signal(signal.SIGINT, old_interrupt)
        if old_timer[0]:  # somebody else's timer goes on where it would be now
            left = max(old_timer[0] - (time.monotonic() - started), 0.001)
            signal.setitimer(signal.ITIMER_REAL, left, old_timer[1])
    if ran.slow:
        ran.value = None
    if interrupted:
        raise KeyboardInterrupt


def _with_worker(work: Callable[[], Any], seconds: float, ran: Ran) -> None:
    """Run in a thread; when the time is over, raise TimeUp in it for half a second."""
    mine = Ran()  # a worker left behind must not write into the answer later

    def body() -> None:
        try:
            mine.value = work()
        except BaseException as error:
            _sort(mine, error)

    def strike() -> None:
        ident = ctypes.c_ulong(worker.ident or 0)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(TimeUp))

    worker = threading.Thread(target=body, daemon=True, name="quiz-check")
    worker.start()
    try:
        worker.join(seconds)
        end = time.monotonic() + 0.5
        late = worker.is_alive()
        while worker.is_alive() and time.monotonic() < end:
            strike()
            worker.join(0.002)
    except KeyboardInterrupt:
        strike()
        raise
    if late:
        ran.slow = True
        return
    ran.value, ran.error, ran.slow = mine.value, mine.error, mine.slow
    ran.flooded, ran.left, ran.asked = mine.flooded, mine.left, mine.asked
