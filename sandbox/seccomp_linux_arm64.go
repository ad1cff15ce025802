package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// The system calls that only this processor has.
var (
	deniedHere     = []uintptr{unix.SYS_KEXEC_FILE_LOAD}
	missingHere    []uintptr
	attributesHere map[uintptr]string
)
