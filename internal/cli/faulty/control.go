package faulty

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"mcpc/internal/client/keepalive"
	"mcpc/internal/live/control"
	"mcpc/internal/state"
	"mcpc/internal/usage"
)

// listen serves commands about the rules on a Unix socket that only this user can use.
func (s *Faults) listen(path string) (done func(), err error) {
	if runtime.GOOS == "windows" {
		return nil, usage.New("--control needs a Unix socket that only its owner can use, which Windows does not have", "")
	}
	done, err = s.newServer().Listen(path)
	if errors.Is(err, control.ErrTaken) {
		return nil, usage.New("--control: another process listens on "+path, "name another socket")
	}
	if errors.Is(err, control.ErrNoSocket) {
		return nil, usage.New("--control: "+path+" is not a socket", "name another socket")
	}
	if err != nil {
		return nil, usage.New("--control: "+err.Error(), "name a socket in a directory of yours")
	}
	return done, nil
}

// newServer returns a server for the control socket or the socket for views.
func (s *Faults) newServer() *control.Server {
	return &control.Server{
		Desk:        s.Desk,
		Live:        s.allowsHolding,
		Now:         s.factory.Now,
		HideSecrets: s.factory.Secrets.Text,
		Hello: func() control.Hello {
			return control.Hello{
				Pid:     os.Getpid(),
				By:      s.recorder,
				Target:  s.factory.Secrets.Text(s.serverName),
				Run:     s.factory.Record.Run(),
				Version: s.factory.Version,
			}
		},
	}
}

// listenLive listens on the socket for views. It ignores errors: only views need the socket.
func (s *Faults) listenLive() {
	store, err := state.Open(s.factory.State)
	path := ""
	if err == nil {
		path, err = store.Socket(state.LiveSockets, strconv.Itoa(os.Getpid()))
	}
	if err == nil {
		keepalive.RemoveStaleSockets(filepath.Dir(path))
		s.closeLive, err = s.newServer().Listen(path)
	}
	if err != nil && s.factory.Verbose > 0 {
		s.factory.Note("messages cannot be held: " + err.Error())
	}
}
