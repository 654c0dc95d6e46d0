package main_test

import (
	"os"
	"os/exec"
	"syscall"
)

func mkfifo(name string) error { return syscall.Mkfifo(name, 0o600) }

// asNobody runs a command without rights when the test itself has all of them.
func asNobody(cmd *exec.Cmd) {
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
}
