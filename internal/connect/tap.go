package connect

import (
	"cmp"
	"slices"

	"mcpc/internal/capture"
	"mcpc/internal/connect/host"
	"mcpc/internal/wire"
)

// LearnSecrets tells what is known to be secret before anything crosses.
func (c *Conn) LearnSecrets(fields []wire.Field) {
	s := &c.Env.Secrets
	for _, f := range fields {
		s.LearnField(f)
	}
	place := cmp.Or(c.Saved, c.OneOff)
	s.LearnURL(place.Endpoint)
	s.LearnCommand(place.Command)
	s.Learn(string(place.SessionID))
	s.LearnField(wire.Field{Name: "Cookie", Value: string(place.Cookies)})
	if c.Env.Environ != nil {
		s.LearnEnvironment(c.Env.Environ())
	}
}

// Tap is what listens to the frames: the recorder, -v while they cross, and
// --explain afterwards. -v and --explain get them without their secrets; without
// these the recorder hides the secrets itself, when it writes.
func (c *Conn) Tap() wire.Tap {
	command := cmp.Or(c.Saved, c.OneOff).Command
	if slices.Contains(c.Env.Args, "--") || c.Origin != nil {
		command = nil // it is in the arguments, or in the file of another program
	}
	e := c.Env
	e.StartRecording(c.Where, capture.ByCommand, command)
	recorder := e.Record.Recorder
	conn := max(0, e.Record.Conns-1)
	return func(f wire.Frame) {
		f.Conn = conn
		e.Record.Crossed.Store(true)
		if e.Trace.Tap != nil {
			e.Trace.Tap(f)
		}
		watch := e.Watch.Load()
		if watch == nil && !e.LearnsAtOnce {
			recorder.Tap(f)
			return
		}
		f = e.Secrets.Frame(f)
		recorder.TapSafe(f)
		if watch != nil {
			(*watch)(f)
		}
	}
}

// tapFull says that no frame is of use any more, so that none is made.
func tapFull(e *host.Env) bool {
	r := &e.Record
	if e.Watch.Load() != nil || e.LearnsAtOnce || e.Trace.Tap != nil {
		return false
	}
	if r.Recorder == nil {
		r.Crossed.Store(true) // the caller has a frame
		return true
	}
	full := r.Full()
	if full {
		r.Past.Add(1)
	}
	return full
}
