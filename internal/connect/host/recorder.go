package host

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"mcpc/internal/capture"
	"mcpc/internal/capture/rows"
	"mcpc/internal/jsonraw"
	"mcpc/internal/redact"
	"mcpc/internal/spool"
	"mcpc/internal/state"
	"mcpc/internal/wire"
)

// Recording is what a command keeps of its traffic: the flight recorder, which is
// on by default.
type Recording struct {
	*capture.Recorder // nil where nothing is recorded
	// ended is set when the recording is.
	ended bool
	Ring  *capture.Ring
	// Conns counts the conversations of the command.
	Conns int
	// Most bounds the recording in the ring, in bytes; 0 does not. past counts the
	// frames behind it.
	Most int64
	Past atomic.Int64
	// Crossed is set once a frame was sent or received: a command with a usage error
	// leaves no file.
	Crossed atomic.Bool
	// Quiet is set where another failure has told of the folder already, and where
	// mcpc has nothing to say.
	Quiet atomic.Bool
	// Many is set where the command's ending is no exchange's own.
	Many bool
	// about is the outcome that EndRecording writes for a command that ends well.
	about wire.Outcome
	// Lasts is set where the command may run for days: a recording in the ring then continues in the next file.
	Lasts bool
	// Resent names the exchange that the command issues again.
	Resent string
	// mark tells the run from others in a file of the user's, own is the recording once it
	// was read.
	mark string
	own  *rows.Capture
}

// OffWord is what switches the recording off in the place of a file.
const OffWord = "off"

// TrafficDir is the folder of the ring within that of the state.
const TrafficDir = "traffic"

// pruneEvery is how many runs go by between two looks at the ring's limits.
const pruneEvery = 64

// StartRecording begins it with the first conversation; where is the server as a user
// would name it, by the recorder that the capture names, command that of a server which
// a file names.
func (e *Env) StartRecording(where, by string, command []string) {
	e.Record.Conns++
	if e.Record.Conns > 1 || e.NoRecord || e.RecordTo == OffWord {
		return
	}
	// A client may start a server's command twice, so that two record into one file.
	place := capture.File(e.RecordTo)
	most := int64(0)
	turn := capture.Rotation{}
	e.Record.mark = strings.ToLower(rand.Text()[:8])
	if e.RecordTo == "" {
		ring, err := e.Ring()
		if err != nil {
			return // without a home there is no place, as there is none for the state
		}
		e.Record.Ring, e.Record.mark, place, most = ring, "", ring.Create, e.Record.Most
		if by != capture.ByCommand || e.Record.Lasts {
			turn = ring.Rotation(rows.Carry)
		}
	}
	e.Record.Recorder = capture.NewRecorder(capture.Recording{
		Open: place, MaxBytes: most, Rotation: turn, Secrets: &e.Secrets, OnError: func(err error) { recordingFailed(e, err) },
		Head: capture.Head{
			Mcpc:    e.Version,
			Started: e.Now(),
			Target:  where,
			Argv:    shownArgs(e),
			Command: command,
			By:      by,
			Pid:     os.Getpid(),
			Of:      e.Record.Resent,
			In:      e.Record.mark,
			Trace:   e.Trace.Trace,
			Span:    e.Trace.Span,
		},
	})
}

// SpoolDir is where large answers are kept until the process ends: the folder of the state, on
// the disk, while that of temporary files may be in memory. Where many answers are to come, the
// memory is.
func SpoolDir(e *Env, oneAnswer bool) spool.Dir {
	if !oneAnswer {
		return ""
	}
	if store, err := state.Open(e.State); err == nil {
		return spool.Dir(store.Dir())
	}
	return spool.Dir(os.TempDir())
}

// Ring is where every run is kept.
func (e *Env) Ring() (*capture.Ring, error) {
	store, err := state.Open(e.State)
	if err != nil {
		return nil, err
	}
	return capture.NewRing(filepath.Join(store.Dir(), TrafficDir)), nil
}

// shownArgs is the command line as it may be kept.
func shownArgs(e *Env) []string {
	words := e.Secrets.Command(append([]string{"mcpc"}, e.Args...))
	for i, f := range fieldsIn(e.Args) {
		f = redact.RedactField(f)
		words[i+1] = e.Secrets.Text(f.Name + ": " + f.Value)
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

// LearnArgs learns the secrets of a command line that may not be parsed yet.
func (e *Env) LearnArgs() {
	e.Secrets.LearnCommand(e.Args)
	for _, f := range fieldsIn(e.Args) {
		e.Secrets.LearnField(f)
	}
}

// recordingFailed is loud once, and changes nothing else: the answer is what the
// user wants.
func recordingFailed(e *Env, err error) {
	if e.Record.Quiet.Load() {
		return
	}
	where := ""
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		where = failed.Path + ": "
	}
	e.UI.Warn("the traffic is not recorded: " + where + Reason(err) + " (--no-record disables recording)")
}

// WarnOfState warns that a part of the state cannot be read or written. The frames that wait are written first: a
// recording that fails, perhaps for the same reason, is then reported before it, and not by chance after it.
func (e *Env) WarnOfState(text string) {
	e.Record.WriteWaiting()
	e.UI.Warn(text)
}

// Reason is an error in the words of the operating system where it has any.
func Reason(err error) string {
	if number, ok := errors.AsType[syscall.Errno](err); ok {
		return number.Error()
	}
	return err.Error()
}

// About sets the outcome that EndRecording writes for a command that ends well.
func (r *Recording) About(o wire.Outcome) { r.about = o }

// EndRecording writes how the command ended, and closes the recording. A command that
// ends with a usage error before a frame was sent or received leaves none.
func (e *Env) EndRecording(o wire.Outcome, exit int) {
	r := &e.Record
	if r.Recorder == nil || r.ended {
		return
	}
	if o.Good() {
		o = r.about
	}
	// The recorder stays where it is: a late frame taps one that is closed.
	r.ended = true
	if past := e.Record.Past.Load(); past > 0 {
		r.Lost(int(past))
	}
	if o.Phase == "state" && r.Ring != nil {
		r.Quiet.Store(true) // it is in the same folder
	}
	if r.Crossed.Load() || o.Kind != wire.Usage && o.Kind != wire.Signal && !o.Good() {
		end := endOf(e, o, exit)
		end.Many = o.Many || r.Many
		r.End(end)
	}
	_ = r.Close() // what failed was said
	if n := r.Run(); r.Ring != nil && n > 0 && n%pruneEvery == 0 {
		_, _ = r.Ring.Prune(capture.DefaultLimits, e.Now())
	}
}

func endOf(e *Env, o wire.Outcome, exit int) capture.End {
	hint := e.UI.HintText(o.Hint)
	return capture.End{Time: e.Now(), Exit: exit, Kind: o.Kind, Method: o.Method, Name: o.Name,
		Text: o.Text, Hint: hint, Took: o.Took, Findings: o.Findings}
}

// GaveUp records that the last request got no valid answer and mcpc waits for none, while
// the command goes on: one that comes late is no ending.
func (e *Env) GaveUp(o wire.Outcome, exit int) {
	unanswered := []wire.Kind{wire.Signal, wire.Timeout, wire.Transport, wire.BadResponse}
	exited := o.Reached == wire.Unsent && o.Process != nil // before, so that no request was recorded
	if o.ID == nil || exited || !slices.Contains(unanswered, o.Kind) {
		return
	}
	if e.Trace.Fail != nil {
		e.Trace.Fail(o)
	}
	if r := e.Record.Recorder; r == nil || r.Full() {
		return
	}
	end := endOf(e, o, exit)
	end.ID = jsonraw.OneLine(o.ID)
	e.Record.End(end)
}

// LastRow is the row of the last exchange of this run in which the client asked for a
// method, else of the last in which it asked; nil where the recording has none or cannot be
// read again. In a file of the user's other runs may stand too, also such as are recorded
// at the same time.
func (r *Recording) LastRow(file, method string) (last *rows.Row) {
	if r.Recorder == nil || r.read(file) != nil {
		return nil
	}
	row := r.own.Row
	if file != "" {
		row = func(n int) *rows.Row { return r.own.RowIn(r.mark, n) }
	}
	for n := 1; row(n) != nil; n++ {
		if is := row(n); !rows.ByServer(is) && (last == nil || is.Method == method || last.Method != method) {
			last = is
		}
	}
	return last
}

// read reads what was recorded until now.
func (r *Recording) read(file string) error {
	r.Flush()
	if r.own != nil {
		_, err := r.own.Refresh()
		return err
	}
	if file == "" {
		run, err := r.Ring.Find(r.Run())
		if err != nil {
			return err
		}
		file = run.Path
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() { // a pipe cannot be read twice
		return fs.ErrInvalid
	}
	r.own, err = rows.Open(file)
	return err
}
