package main

import (
	"cmp"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"mcpc/internal/state"
	"mcpc/internal/trace"
	"mcpc/internal/wire"
)

// A record is what a command keeps of its traffic: the flight recorder, which
// nobody has to switch on before the surprise.
type record struct {
	*trace.Recorder // nil where nothing is recorded
	// ended is set when the recording is.
	ended bool
	ring  *trace.Ring
	// conns counts the conversations of the command.
	conns int
	// most bounds the recording in the ring, in bytes; 0 does not. past counts the
	// frames behind it.
	most int64
	past atomic.Int64
	// crossed is set when there was a frame: a command that was asked wrongly
	// leaves no file.
	crossed atomic.Bool
	// quiet is set where another failure has told of the folder already, and where
	// mcpc has nothing to say.
	quiet atomic.Bool
	// many is set where the command's ending is no exchange's own.
	many bool
	// resent names the exchange that the command issues again.
	resent string
	// mark tells the run from others in a file of the user's, own is the recording once it
	// was read.
	mark string
	own  *trace.Capture
}

// offWord is what switches the recording off in the place of a file.
const offWord = "off"

// trafficDir is the folder of the ring within that of the state.
const trafficDir = "traffic"

// pruneEvery is how many runs go by between two looks at the ring's limits.
const pruneEvery = 64

// startRecording begins it with the first conversation; where is the server as a
// person would name it, by what the capture says of who records, command that of a server
// which a file names.
func (a *env) startRecording(where, by string, command []string) {
	a.record.conns++
	if a.record.conns > 1 || a.noRecord || a.recordTo == offWord {
		return
	}
	// A client may start a server's command twice, so that two record into one file.
	place, most, turn := trace.File(a.recordTo), int64(0), trace.Turning{}
	a.record.mark = strings.ToLower(rand.Text()[:8])
	if a.recordTo == "" {
		ring, err := a.ring()
		if err != nil {
			return // without a home there is no place, as there is none for the state
		}
		a.record.ring, a.record.mark, place, most = ring, "", ring.Create, a.record.most
		if by != trace.ByCommand { // what may run for days
			turn = trace.DefaultTurning(ring)
		}
	}
	a.record.Recorder = trace.NewRecorder(trace.Recording{
		Place: place, Most: most, Turn: turn, Secrets: &a.secrets, Failed: a.recordingFailed,
		Head: trace.Head{Mcpc: a.version, Started: a.now(), Target: where, Argv: a.shownArgs(), Command: command, By: by, Of: a.record.resent, In: a.record.mark},
	})
}

// ring is where every run is kept.
func (a *env) ring() (*trace.Ring, error) {
	store, err := state.Open(a.state)
	if err != nil {
		return nil, err
	}
	return trace.NewRing(filepath.Join(store.Dir(), trafficDir)), nil
}

// shownArgs is the command line as it may be kept.
func (a *env) shownArgs() []string {
	words := a.secrets.Command(append([]string{"mcpc"}, a.args...))
	for i, f := range fieldsIn(a.args) {
		f = wire.RedactField(f)
		words[i+1] = a.secrets.Text(f.Name + ": " + f.Value)
	}
	return words
}

// fieldsIn are the header fields of a command line, by the index of their word.
func fieldsIn(args []string) map[int]wire.Field {
	fields := map[int]wire.Field{}
	for i, word := range args {
		if i > 0 && (args[i-1] == "-H" || args[i-1] == "--header") {
			if name, value, ok := strings.Cut(word, ":"); ok {
				fields[i] = wire.Field{Name: name, Value: strings.TrimSpace(value)}
			}
		}
	}
	return fields
}

// learnArgs learns the secrets of the command line before anybody has read it.
func (a *env) learnArgs() {
	a.secrets.LearnCommand(a.args)
	for _, f := range fieldsIn(a.args) {
		a.secrets.LearnField(f)
	}
}

// recordingFailed is loud once, and changes nothing else: the answer is what the
// user wants.
func (a *env) recordingFailed(err error) {
	if a.record.quiet.Load() {
		return
	}
	where := ""
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		where = failed.Path + ": "
	}
	a.ui.warn("the traffic is not recorded: " + where + reason(err) + " (--no-record disables recording)")
}

// reason is an error in the words of the operating system where it has any.
func reason(err error) string {
	if number, ok := errors.AsType[syscall.Errno](err); ok {
		return number.Error()
	}
	return err.Error()
}

// endRecording writes how the command ended, and closes the recording. A command that
// was asked wrongly before anything crossed leaves none.
func (a *env) endRecording(o wire.Outcome, exit int) {
	r := &a.record
	if r.Recorder == nil || r.ended {
		return
	}
	// The recorder stays where it is: who is late for it taps one that is closed.
	r.ended = true
	if past := a.record.past.Load(); past > 0 {
		r.Lost(int(past))
	}
	if o.Phase == "state" && r.ring != nil {
		r.quiet.Store(true) // it is in the same folder
	}
	if r.crossed.Load() || o.Kind != wire.Usage && o.Kind != wire.Signal && !o.Good() {
		end := a.endOf(o, exit)
		end.Many = o.Many || r.many
		r.End(end)
	}
	_ = r.Close() // what failed was said
	if n := r.Run(); r.ring != nil && n > 0 && n%pruneEvery == 0 {
		_, _ = r.ring.Prune(trace.DefaultLimits, a.now())
	}
}

func (a *env) endOf(o wire.Outcome, exit int) trace.End {
	hint := a.ui.hintText(o.Hint)
	return trace.End{Time: a.now(), Exit: exit, Kind: o.Kind, Method: o.Method, Name: o.Name,
		Text: o.Text, Hint: hint, Took: o.Took, Findings: o.Findings}
}

// gaveUp records that what was asked last got no valid answer and nobody waits for one,
// while the command goes on: one that comes late is no ending.
func (a *env) gaveUp(o wire.Outcome, exit int) {
	unanswered := []wire.Kind{wire.Signal, wire.Timeout, wire.Transport, wire.BadResponse}
	exited := o.Reached == wire.Unsent && o.Process != nil // before, so that no request was recorded
	if r := a.record.Recorder; r == nil || r.Full() || o.ID == nil || exited || !slices.Contains(unanswered, o.Kind) {
		return
	}
	end := a.endOf(o, exit)
	end.ID = wire.OneLine(o.ID)
	a.record.End(end)
}

// lastRow is the row of the last exchange of this run in which the client asked for a
// method, else of the last in which it asked; nil where the recording has none or cannot be
// read again. In a file of the user's other runs may stand too, also such as are recorded
// at the same time.
func (r *record) lastRow(file, method string) (last *trace.Row) {
	if r.Recorder == nil || r.read(file) != nil {
		return nil
	}
	row := r.own.Row
	if file != "" {
		row = func(n int) *trace.Row { return r.own.RowIn(r.mark, n) }
	}
	for n := 1; row(n) != nil; n++ {
		if is := row(n); !byServer(is) && (last == nil || is.Method == method || last.Method != method) {
			last = is
		}
	}
	return last
}

// read reads what was recorded until now.
func (r *record) read(file string) error {
	r.Flush()
	if r.own != nil {
		_, err := r.own.Refresh()
		return err
	}
	if file == "" {
		run, err := r.ring.Find(r.Run())
		if err != nil {
			return err
		}
		file = run.Path
	}
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular(): // nobody reads a pipe twice
		return fs.ErrInvalid
	}
	r.own, err = trace.Open(file)
	return err
}

// learnSecrets tells what is known to be secret before anything crosses.
func (c *conversation) learnSecrets(fields []wire.Field) {
	s := &c.a.secrets
	for _, f := range fields {
		s.LearnField(f)
	}
	place := cmp.Or(c.saved, c.oneOff)
	s.LearnURL(place.Endpoint)
	s.LearnCommand(place.Command)
	s.Learn(string(place.SessionID))
	if c.a.environ != nil {
		s.LearnEnvironment(c.a.environ())
	}
}

// tap is what listens to the frames: the recorder, -v while they cross, and
// --explain afterwards. Whoever shows them is given them without their secrets;
// where nobody does, the recorder sees to that itself, when nobody waits.
func (c *conversation) tap() wire.Tap {
	command := cmp.Or(c.saved, c.oneOff).Command
	if slices.Contains(c.a.args, "--") || c.origin != nil {
		command = nil // it stands there, or in the file of another program
	}
	c.a.startRecording(c.where, trace.ByCommand, command)
	recorder, conn := c.a.record.Recorder, max(0, c.a.record.conns-1)
	return func(f wire.Frame) {
		f.Conn = conn
		c.a.record.crossed.Store(true)
		watch := c.a.watch.Load()
		if watch == nil {
			recorder.Tap(f)
			return
		}
		f = c.a.secrets.Frame(f)
		recorder.TapSafe(f)
		(*watch)(f)
	}
}

// tapFull says that no frame is of use any more, so that none is made.
func (c *conversation) tapFull() bool {
	r := &c.a.record
	if c.a.watch.Load() != nil {
		return false
	}
	if r.Recorder == nil {
		r.crossed.Store(true) // who asks has a frame
		return true
	}
	full := r.Full()
	if full {
		r.past.Add(1)
	}
	return full
}
