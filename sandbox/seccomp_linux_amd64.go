package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// The system calls that only this processor has.
var (
	deniedHere     = []uintptr{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_KEXEC_FILE_LOAD}
	missingHere    = []uintptr{unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT}
	attributesHere = map[uintptr]string{unix.SYS_CHMOD: "chmod", unix.SYS_CHOWN: "chown", unix.SYS_LCHOWN: "lchown"}
)
