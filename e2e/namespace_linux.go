package e2e

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// enterVariable tells this program, started again inside a network namespace, which
// program to become; probe ends it there.
const (
	enterVariable = "CHINVEX_E2E_ENTER"
	probe         = "probe"
)

// Enter must be called first in main or TestMain of a program that runs sessions. Inside
// a new network namespace it brings loopback up, opens the model's port, hands that to
// the process outside, and becomes the client. Elsewhere it does nothing.
func Enter() {
	program := os.Getenv(enterVariable)
	if program == "" {
		return
	}
	if err := enter(program); err != nil {
		fmt.Fprintln(os.Stderr, "e2e: in the network namespace:", err)
		os.Exit(70)
	}
	os.Exit(0)
}

func enter(program string) error {
	if err := loopbackUp(); err != nil || program == probe {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	port, err := l.(*net.TCPListener).File()
	if err != nil {
		return err
	}
	const outside = 3    // the first of ExtraFiles
	fd := int(port.Fd()) // makes it blocking, outside too: never after it was sent
	unix.CloseOnExec(fd)
	unix.CloseOnExec(outside)
	if err := unix.Sendmsg(outside, []byte{0}, unix.UnixRights(fd), nil, 0); err != nil {
		return err
	}
	os.Unsetenv(enterVariable)
	os.Setenv("ANTHROPIC_BASE_URL", "http://"+l.Addr().String())
	return syscall.Exec(program, os.Args, os.Environ())
}

func loopbackUp() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, lo)
}

// namespace returns how to start a process in a network namespace of its own, nil where
// the system does not allow it.
var namespace = sync.OnceValue(func() *syscall.SysProcAttr {
	self := func(id int) []syscall.SysProcIDMap { return []syscall.SysProcIDMap{{HostID: id, Size: 1}} }
	for _, how := range []*syscall.SysProcAttr{
		{Cloneflags: syscall.CLONE_NEWNET},
		{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWUSER, UidMappings: self(os.Getuid()), GidMappings: self(os.Getgid())},
	} {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = []string{enterVariable + "=" + probe}
		cmd.SysProcAttr = how
		if cmd.Run() == nil {
			return how
		}
	}
	return nil
})

// startAlone starts cmd where nothing but loopback can be reached, with
// ANTHROPIC_BASE_URL added to its environment, and returns the listener that the URL
// leads to. isolated is false, and nothing started, where the system does not allow it.
func startAlone(cmd *exec.Cmd) (l net.Listener, isolated bool, err error) {
	how := namespace()
	if how == nil {
		return nil, false, nil
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, true, err
	}
	inside := os.NewFile(uintptr(pair[1]), "model")
	defer unix.Close(pair[0])
	cmd.Env = append(cmd.Env, enterVariable+"="+cmd.Path)
	cmd.Path = "/proc/self/exe"
	cmd.ExtraFiles = []*os.File{inside}
	cmd.SysProcAttr = how
	err = cmd.Start()
	inside.Close()
	if err != nil {
		return nil, true, err
	}
	l, err = receiveListener(pair[0])
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, true, fmt.Errorf("e2e: no port from the network namespace: %w", err)
	}
	return l, true, nil
}

func receiveListener(socket int) (net.Listener, error) {
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(socket, make([]byte, 1), rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return nil, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil {
		return nil, err
	}
	if len(messages) == 0 {
		return nil, errors.New("the process there ended")
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fds[0]), "port")
	defer f.Close()
	return net.FileListener(f)
}
