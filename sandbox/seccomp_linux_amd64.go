package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// The system calls that only this processor has.
var (
	deniedHere     = []uintptr{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_CHOWN, unix.SYS_LCHOWN}
	missingHere    = []uintptr{unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT}
	attributesHere = []uintptr{unix.SYS_CHMOD}
)
