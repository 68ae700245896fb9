"""Library functions that do input or output, read a clock or sleep, by name."""

from __future__ import annotations

import re

from dse.profile.build.hooks import plain_name

_C = """
open openat creat close read write pread pwrite readv writev preadv pwritev lseek truncate ftruncate
fsync fdatasync sendfile splice ioctl fcntl dup dup2 pipe pipe2 mmap msync
fopen fdopen freopen fclose fcloseall fread fwrite fflush fseek fseeko ftell ftello rewind fgetpos
fsetpos setbuf setvbuf fgetc getc getchar gets fgets ungetc fputc putc putchar fputs puts getw putw
getline getdelim printf fprintf dprintf vprintf vfprintf vdprintf scanf fscanf vscanf vfscanf perror
fwide fgetwc getwc getwchar fgetws fputwc putwc putwchar fputws wprintf fwprintf wscanf fwscanf
tmpfile mkstemp mkdtemp popen pclose system
stat lstat fstat fstatat statx access faccessat chmod fchmod chown fchown lchown utime utimes
utimensat futimens link symlink readlink unlink unlinkat remove rename renameat mkdir mkdirat rmdir
opendir fdopendir readdir rewinddir closedir scandir nftw ftw glob getcwd chdir realpath
isatty ttyname tcgetattr tcsetattr readline add_history
socket socketpair bind listen accept accept4 connect shutdown send sendto sendmsg recv recvfrom
recvmsg select pselect poll ppoll epoll_wait getaddrinfo
time ftime times clock clock_gettime gettimeofday getrusage sleep usleep nanosleep
syslog vsyslog err errx warn warnx error psignal
__uflow __overflow __underflow _IO_getc _IO_putc
"""
_STREAM = re.compile(r"^_ZN?K?S[iod]|basic_(?:io|i|o)stream|basic_(?:i|o)?f(?:stream|ilebuf)")
_CLOCK = re.compile(r"6chrono.*clock3nowEv$")  # std::chrono::system_clock::now() and others


def does_io(symbol: str) -> bool:
    """Return whether a library function does input or output, reads a clock or sleeps.

    A C++ stream counts as a stream of a file: its name does not show its target.

    >>> does_io("__isoc99_scanf"), does_io("fread_unlocked"), does_io("__printf_chk")
    (True, True, True)
    >>> does_io("_ZNSt3__113basic_ostreamIcNS_11char_traitsIcEEElsEi"), does_io("snprintf")
    (True, False)
    >>> does_io("__clock_gettime64"), does_io("_ZNSt3__16chrono12system_clock3nowEv")
    (True, True)
    """
    name = plain_name(symbol).removesuffix("_unlocked")
    name = re.sub(r"^__(clock_gettime|gettimeofday|time|nanosleep)(64)?$", r"\1", name)
    if checked := re.fullmatch(r"__(\w+)_chk", name):
        name = checked[1]
    return name in _NAMES or bool(_STREAM.search(symbol) or _CLOCK.search(symbol))


_NAMES = frozenset(_C.split())
