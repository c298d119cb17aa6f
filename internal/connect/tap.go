package connect

import (
	"slices"

	"mcpc/internal/capture"
	"mcpc/internal/connect/host"
	"mcpc/internal/wire"
)

// LearnSecrets makes the secrets known that are in fields, address, command, session and
// environment, before anything is sent.
func (c *Conn) LearnSecrets(fields []wire.Field) {
	s := &c.Env.Secrets
	for _, f := range fields {
		s.LearnField(f)
	}
	session := c.ServerSession()
	s.LearnURL(session.Endpoint)
	s.LearnCommand(session.Command)
	s.Learn(string(session.SessionID))
	s.LearnField(wire.Field{Name: "Cookie", Value: string(session.Cookies)})
	if c.Env.Environ != nil {
		s.LearnEnvironment(c.Env.Environ())
	}
}

// Tap returns the function that receives every frame: it passes them to the recorder, to telemetry,
// to -v and to --explain. -v and --explain get frames without secrets. Without them the recorder
// hides the secrets when it writes. Tap starts the recording.
func (c *Conn) Tap() wire.Tap {
	command := c.ServerSession().Command
	if slices.Contains(c.Env.Args, "--") || c.Origin != nil {
		command = nil // the arguments or the configuration file have it
	}
	e := c.Env
	e.StartRecording(c.Where, capture.ByCommand, command)
	recorder := e.Record.Recorder
	conn := max(0, e.Record.Conns-1) // the number of this connection in the recording, from 0
	return func(f wire.Frame) {
		f.Conn = conn
		e.Record.HasTraffic.Store(true)
		if e.Trace.Tap != nil {
			e.Trace.Tap(f)
		}
		watch := e.Watch.Load() // of -v and --explain
		if watch == nil && !e.LearnsAtOnce {
			recorder.Tap(f)
			return
		}
		f = e.Secrets.Frame(f) // hides the secrets now, and learns those in the frame
		recorder.TapSafe(f)
		if watch != nil {
			(*watch)(f)
		}
	}
}

// tapFull reports whether no frame is needed any more, because the recording is full and nothing
// else uses frames.
func tapFull(e *host.Env) bool {
	r := &e.Record
	if e.Watch.Load() != nil || e.LearnsAtOnce || e.Trace.Tap != nil {
		return false
	}
	if r.Recorder == nil {
		r.HasTraffic.Store(true) // the caller asks because it has a frame, which reaches no tap
		return true
	}
	full := r.Full()
	if full {
		r.Past.Add(1) // the caller's frame: the recording ends with the number of missing frames
	}
	return full
}
