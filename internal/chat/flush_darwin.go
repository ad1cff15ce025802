package chat

import "golang.org/x/sys/unix"

// flush drops what was typed at a terminal and not yet read.
func flush(fd int) { _ = unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, 1) } // 1 is the input
