package keepalive

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// sameUser returns an error if the other end of a unix socket is not a process of this user.
func sameUser(conn net.Conn) error {
	unix, ok := conn.(*net.UnixConn)
	if !ok {
		return errors.New("not a unix socket")
	}
	raw, err := unix.SyscallConn()
	if err != nil {
		return err
	}
	var peer *syscall.Ucred
	var peerErr error
	err = raw.Control(func(fd uintptr) {
		peer, peerErr = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	err = errors.Join(err, peerErr)
	if err != nil {
		return err
	}
	if int(peer.Uid) != os.Geteuid() {
		return ErrOtherUser
	}
	return nil
}
