package main_test

import (
	"os"
	"os/exec"
	"syscall"
)

func mkfifo(name string) error { return syscall.Mkfifo(name, 0o600) }

// tryLock takes and frees a writer's lock; false while another process has it.
func tryLock(f *os.File) bool {
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// asNobody runs a command without rights when the test itself has all of them.
func asNobody(cmd *exec.Cmd) {
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
}
