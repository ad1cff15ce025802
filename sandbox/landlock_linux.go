package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
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

// systemFiles can be read by every command. Of /proc, the kernel keeps memory, environment and
// open files of processes outside of the walls to themselves (Landlock, ptrace); names and
// command lines it shows.
var systemFiles = []string{
	"/proc", "/sys/devices/system/cpu", "/etc/default/locale", "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ssl/cert.pem",
	"/etc/pki/tls/certs", "/etc/pki/tls/openssl.cnf", "/etc/pki/ca-trust",
}

// etcFiles are patterns of what every command can read in /etc: what programs need to start,
// to speak the user's language and to reach servers. Accounts (passwd, group, shadow) and keys
// are not in it.
var etcFiles = []string{
	"ld.so.*", "alternatives", "localtime", "timezone", "locale*", "nsswitch.conf", "hosts", "host.conf", "resolv.conf", "gai.conf",
	"services", "protocols", "ca-certificates*", "crypto-policies", "os-release", "lsb-release", "debian_version",
	"mime.types", "magic*", "mailcap", "papersize", "terminfo", "inputrc", "gitconfig", "gitattributes",
	"fonts", "ImageMagick*", "ghostscript", "texmf", "python*", "perl", "java*", "php*", "R",
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
	system := slices.Concat(systemFolders, systemFiles, etc())
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

// etc returns what etcFiles match.
func etc() []string {
	dir, err := os.Open("/etc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // what was read counts
	var files []string
	for _, name := range names {
		for _, pattern := range etcFiles {
			if ok, _ := path.Match(pattern, name); ok {
				files = append(files, "/etc/"+name)
			}
		}
	}
	return files
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
