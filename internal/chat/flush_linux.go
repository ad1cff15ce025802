package chat

import "golang.org/x/sys/unix"

// flush drops what was typed at a terminal and not yet read.
func flush(fd int) { _ = unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) } // then it is read as the answer
