package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Rights that a rule can give to a file; a rule for a file with any other right is an error.
const fileRights = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev

const (
	readRights = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSReadDir

	// writeRights lack the making of devices, which no script needs.
	writeRights = readRights | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSRefer |
		ll.AccessFSRemoveDir | ll.AccessFSRemoveFile | ll.AccessFSMakeDir | ll.AccessFSMakeReg |
		ll.AccessFSMakeSym | ll.AccessFSMakeFifo | ll.AccessFSMakeSock
)

// systemFolders can be read by every command, and programs in them run.
var systemFolders = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"}

// systemFiles can be read by every command. Of /etc it is what programs need to start, to
// speak the user's language and to reach servers; accounts (passwd, group, shadow) and keys
// are not in it. Of /proc, the kernel keeps memory, environment and open files of processes
// outside of the walls to themselves (Landlock, ptrace); names and command lines it shows.
var systemFiles = []string{
	"/proc", "/sys/devices/system/cpu",
	"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/ld-musl-x86_64.path", "/etc/ld-musl-aarch64.path",
	"/etc/alternatives", "/etc/localtime", "/etc/timezone", "/etc/locale.alias", "/etc/locale.conf", "/etc/default/locale",
	"/etc/nsswitch.conf", "/etc/hosts", "/etc/host.conf", "/etc/resolv.conf", "/etc/gai.conf", "/etc/services", "/etc/protocols",
	"/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ssl/cert.pem", "/etc/ca-certificates", "/etc/ca-certificates.conf",
	"/etc/pki/tls/certs", "/etc/pki/tls/openssl.cnf", "/etc/pki/ca-trust", "/etc/crypto-policies",
	"/etc/os-release", "/etc/lsb-release", "/etc/debian_version", "/etc/mime.types", "/etc/magic", "/etc/magic.mime", "/etc/mailcap",
	"/etc/papersize", "/etc/terminfo", "/etc/inputrc", "/etc/gitconfig", "/etc/gitattributes", "/etc/fonts", "/etc/ghostscript", "/etc/texmf",
	"/etc/ImageMagick-6", "/etc/ImageMagick-7", "/etc/perl", "/etc/php", "/etc/php.ini", "/etc/R",
	"/etc/python3", "/etc/python3.9", "/etc/python3.10", "/etc/python3.11", "/etc/python3.12", "/etc/python3.13", "/etc/python3.14", "/etc/python3.15",
	"/etc/java-8-openjdk", "/etc/java-11-openjdk", "/etc/java-17-openjdk", "/etc/java-21-openjdk", "/etc/java-25-openjdk",
}

// systemDevices can be read and written by every command.
var systemDevices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// landlockABI is the version of Landlock that the kernel offers; 0 means none.
func landlockABI() int {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return abi
}

// restrictFiles puts the calling thread, and what it starts, behind Landlock.
func restrictFiles(o *order) error {
	attr := landlockRights(o.ABI)
	ruleset, err := ll.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return fmt.Errorf("creating the Landlock rules: %w", err)
	}
	defer unix.Close(ruleset)
	if err := allowPaths(ruleset, attr.HandledAccessFS, o); err != nil {
		return err
	}
	if attr.HandledAccessNet != 0 {
		for _, port := range o.Ports {
			if err := ll.LandlockAddNetPortRule(ruleset, &ll.NetPortAttr{AllowedAccess: ll.AccessNetConnectTCP, Port: uint64(port)}, 0); err != nil {
				return fmt.Errorf("allowing TCP port %d: %w", port, err)
			}
		}
	}
	if err := ll.LandlockRestrictSelf(ruleset, 0); err != nil {
		return fmt.Errorf("applying the Landlock rules: %w", err)
	}
	return nil
}

// landlockRights is all that a version of Landlock can deny.
func landlockRights(abi int) ll.RulesetAttr {
	a := ll.RulesetAttr{HandledAccessFS: ll.AccessFSMakeSym<<1 - 1}
	if abi >= 2 {
		a.HandledAccessFS |= ll.AccessFSRefer
	}
	if abi >= 3 {
		a.HandledAccessFS |= ll.AccessFSTruncate
	}
	if abi >= 4 {
		a.HandledAccessNet = ll.AccessNetBindTCP | ll.AccessNetConnectTCP
	}
	if abi >= 5 {
		a.HandledAccessFS |= ll.AccessFSIoctlDev
	}
	if abi >= 6 {
		a.Scoped = ll.ScopeAbstractUnixSocket | ll.ScopeSignal
	}
	if abi >= 9 {
		a.HandledAccessFS |= ll.AccessFSResolveUnix
	}
	if abi >= 10 {
		a.HandledAccessNet |= ll.AccessNetBindUDP | ll.AccessNetConnectSendUDP
	}
	return a
}

// allowPaths adds the rules for files. A path of the system may be missing, one of the order
// may not.
func allowPaths(ruleset int, handled uint64, o *order) error {
	system := slices.Concat(systemFolders, systemFiles)
	for _, rule := range []struct {
		paths  []string
		rights uint64
		must   bool
	}{
		{system, readRights, false},
		{systemDevices, ll.AccessFSReadFile | ll.AccessFSWriteFile, false},
		{o.Read, readRights, true},
		{o.Write, writeRights, true},
	} {
		for _, path := range rule.paths {
			err := allowPath(ruleset, path, rule.rights&handled)
			missing := errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
			if err != nil && (rule.must || !missing) {
				return fmt.Errorf("allowing %s: %w", path, err)
			}
		}
	}
	return nil
}

// allowPath gives rights to a file, or to a folder and all that is in it.
func allowPath(ruleset int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fileRights
	}
	return ll.LandlockAddPathBeneathRule(ruleset, &ll.PathBeneathAttr{AllowedAccess: rights, ParentFd: fd}, 0)
}
