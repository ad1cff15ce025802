package snapshot

import (
	"errors"
	"os"
	"syscall"
	"unsafe"
)

// mapFile maps the first size bytes of f for reading. While they are mapped, the file
// cannot be replaced or removed.
func mapFile(f *os.File, size int) ([]byte, func() error, error) {
	mapping, err := syscall.CreateFileMapping(syscall.Handle(f.Fd()), nil, syscall.PAGE_READONLY, uint32(uint64(size)>>32), uint32(size), nil)
	if err != nil {
		return nil, nil, os.NewSyscallError("CreateFileMapping", err)
	}
	addr, err := syscall.MapViewOfFile(mapping, syscall.FILE_MAP_READ, 0, 0, uintptr(size))
	// The view keeps the mapping alive.
	if err := errors.Join(os.NewSyscallError("MapViewOfFile", err), syscall.CloseHandle(mapping)); err != nil {
		return nil, nil, err
	}
	// The address is not in Go's memory. go vet cannot know that, so it gets a pointer to
	// the address.
	data := unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&addr))), size)
	return data, func() error { return syscall.UnmapViewOfFile(addr) }, nil
}
