//go:build !linux

package e2e

import (
	"net"
	"os/exec"
)

// Enter does nothing: there are no network namespaces on this system.
func Enter() {}

func startAlone(*exec.Cmd) (l net.Listener, isolated bool, err error) { return nil, false, nil }
