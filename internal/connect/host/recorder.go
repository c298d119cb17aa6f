package host

import (
	"crypto/rand"
	"encoding/json"
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
	"mcpc/internal/target"
	"mcpc/internal/wire"
)

// A Recording records the traffic of a command. It is on by default.
type Recording struct {
	*capture.Recorder // nil if nothing is recorded
	// ended is set once EndRecording has run.
	ended bool
	Ring  *capture.Ring
	// Conns counts the connections of the command.
	Conns int
	// Most limits the recording in the ring, in bytes; 0 does not. Past counts the frames after the
	// limit.
	Most int64
	Past atomic.Int64
	// HasTraffic is set once a frame was sent or received. A command with a usage error leaves no
	// file.
	HasTraffic atomic.Bool
	// Quiet suppresses the warning that nothing is recorded: another failure has named the folder
	// already, or the command must print nothing.
	Quiet atomic.Bool
	// Many is set if the command's outcome is not the outcome of one exchange.
	Many bool
	// outcome is the outcome that EndRecording writes for a command that succeeds.
	outcome wire.Outcome
	// Lasts is set if the command may run for days. A recording in the ring then continues in
	// further files.
	Lasts bool
	// Resent is the exchange that the command sends again.
	Resent string
	// runMark identifies this run in a file that has several runs. capture is the recording as
	// LastRow has read it.
	runMark string
	capture *rows.Capture
}

// Run returns the number of the run. It returns 0 if the run has no number, or if nothing is recorded.
func (r *Recording) Run() int {
	if r.Recorder == nil {
		return 0
	}
	return r.Recorder.Run()
}

// OffWord is the value of --record that disables the recording.
const OffWord = "off"

// TrafficDir is the folder of the ring in the state directory.
const TrafficDir = "traffic"

// pruneEvery is the number of runs between two checks of the ring's limits.
const pruneEvery = 64

// StartRecording counts a connection, and starts the recording with the first one unless the user has
// disabled it. where names the server for the user, by is the kind of recorder. command is the
// server's command if the command line does not show it, otherwise nil.
func (e *Env) StartRecording(where, by string, command []string) {
	e.Record.Conns++
	if e.Record.Conns > 1 || e.NoRecord || e.RecordTo == OffWord {
		return
	}
	open := capture.File(e.RecordTo)
	maxBytes := int64(0)           // no limit
	rotation := capture.Rotation{} // one file
	// A client may start a server twice: then two runs record to one file and need a mark.
	e.Record.runMark = strings.ToLower(rand.Text()[:8])
	if e.RecordTo == "" {
		ring, err := e.Ring()
		if err != nil {
			return // there is no state directory
		}
		e.Record.Ring = ring
		e.Record.runMark = ""
		open = ring.Create
		maxBytes = e.Record.Most
		if by != capture.ByCommand || e.Record.Lasts { // it may run for days
			rotation = ring.Rotation(rows.Carry)
		}
	}
	e.Record.Recorder = capture.NewRecorder(capture.Recording{
		Open:     open,
		MaxBytes: maxBytes,
		Rotation: rotation,
		Secrets:  &e.Secrets,
		OnError:  func(err error) { warnNotRecorded(e, err) },
		Head: capture.Head{
			Mcpc:     e.Version,
			Started:  e.Now(),
			Target:   where,
			Argv:     shownArgs(e),
			Command:  command,
			By:       by,
			Pid:      os.Getpid(),
			IsNested: e.Getenv != nil && e.Getenv(recordedVariable) != "",
			ReplayOf: e.Record.Resent,
			Mark:     e.Record.runMark,
			Trace:    e.Trace.Trace,
			Span:     e.Trace.Span,
		},
	})
}

// recordedVariable is the environment variable that a recording mcpc sets for a server that is mcpc
// itself, which would record the same requests again.
const recordedVariable = "MCPC_RECORDED"

// ChildEnviron returns the environment for a server with the command argv: environ, and the variable
// that makes its recording a nested one if the server is mcpc and this process records into the ring.
func (e *Env) ChildEnviron(environ, argv []string) []string {
	self, err := e.Executable()
	if err != nil || environ == nil || e.NoRecord || e.RecordTo != "" || !target.SameProgram(argv[0], self) {
		return environ
	}
	return append(slices.Clip(environ), recordedVariable+"=1") // Clip: a copy, environ stays as it is
}

// SpoolDir returns the folder for a large answer until the process ends: the state directory,
// because the folder of temporary files may be in memory. Commands with many answers keep them in
// memory: it returns "" unless oneAnswer is set.
func SpoolDir(e *Env, oneAnswer bool) spool.Dir {
	if !oneAnswer {
		return ""
	}
	if store, err := state.Open(e.State); err == nil {
		return spool.Dir(store.Dir())
	}
	return spool.Dir(os.TempDir())
}

// Ring returns the ring of recordings.
func (e *Env) Ring() (*capture.Ring, error) {
	store, err := state.Open(e.State)
	if err != nil {
		return nil, err
	}
	return capture.NewRing(filepath.Join(store.Dir(), TrafficDir)), nil
}

// shownArgs returns the command line without secrets.
func shownArgs(e *Env) []string {
	words := e.Secrets.Command(append([]string{"mcpc"}, e.Args...))
	for i, field := range fieldsIn(e.Args) {
		field = redact.RedactField(field)
		words[i+1] = e.Secrets.Text(field.Name + ": " + field.Value) // words begin with "mcpc"
	}
	return words
}

// fieldsIn returns the header fields in a command line, by the index of the word.
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

// LearnArgs makes the secrets of the command line known, before it is parsed.
func (e *Env) LearnArgs() {
	e.Secrets.LearnCommand(e.Args)
	for _, f := range fieldsIn(e.Args) {
		e.Secrets.LearnField(f)
	}
}

// warnNotRecorded warns that the traffic is not recorded. The command continues.
func warnNotRecorded(e *Env, err error) {
	if e.Record.Quiet.Load() {
		return
	}
	where := ""
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		where = failed.Path + ": "
	}
	e.UI.Warn("the traffic is not recorded: " + where + Reason(err) + " (--no-record disables recording)")
}

// WarnOfState warns that a part of the state directory cannot be read or written. It first writes
// the waiting frames: a recording that fails for the same reason always warns first.
func (e *Env) WarnOfState(text string) {
	e.Record.WriteWaiting()
	e.UI.Warn(text)
}

// Reason returns the operating system's text for err, if it has one.
func Reason(err error) string {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno.Error()
	}
	return err.Error()
}

// SetOutcome sets the outcome that EndRecording writes for a command that succeeds.
func (r *Recording) SetOutcome(o wire.Outcome) { r.outcome = o }

// EndRecording writes how the command ended, and closes the recording. A command without traffic
// leaves no recording, unless it failed for another reason than a usage error or a signal. Later calls
// do nothing.
func (e *Env) EndRecording(o wire.Outcome, exit int) {
	r := &e.Record
	if r.Recorder == nil || r.ended {
		return
	}
	if o.OK() {
		o = r.outcome // of SetOutcome: the command succeeds, but its call may have failed
	}
	r.ended = true // r.Recorder stays set: late frames reach a closed recorder
	if past := e.Record.Past.Load(); past > 0 {
		r.Lost(int(past))
	}
	if o.Phase == "state" && r.Ring != nil {
		r.Quiet.Store(true) // the outcome already names the folder
	}
	isFailure := !o.OK() && o.Kind != wire.Usage && o.Kind != wire.Signal
	if r.HasTraffic.Load() || isFailure {
		end := composeEnd(e, o, exit)
		end.Many = o.IsSummary || r.Many
		r.End(end)
	}
	_ = r.Close() // OnError has reported failures
	// Run is 0 if no file was written.
	if run := r.Run(); r.Ring != nil && run > 0 && run%pruneEvery == 0 {
		_, _ = r.Ring.Prune(capture.DefaultLimits, e.Now()) // a later run tries again
	}
}

// composeEnd returns how the command ended, for the recording.
func composeEnd(e *Env, o wire.Outcome, exit int) capture.End {
	hint := e.UI.HintText(o.Hint)
	return capture.End{
		Time: e.Now(), Exit: exit, Kind: o.Kind, Method: o.Method, Name: o.Name,
		Text: o.Text, Hint: hint, Took: o.Took, Findings: o.Findings,
	}
}

// GaveUp records that the command continues without waiting for the response to its last request. A
// late response is then not taken for the outcome.
func (e *Env) GaveUp(o wire.Outcome, exit int) {
	unanswered := []wire.Kind{wire.Signal, wire.Timeout, wire.Transport, wire.BadResponse}
	// The server exited before the request was sent, so no recording has the request.
	isUnsent := o.Reached == wire.Unsent && o.Process != nil
	if o.ID == nil || isUnsent || !slices.Contains(unanswered, o.Kind) {
		return
	}
	if e.Trace.Fail != nil {
		e.Trace.Fail(o)
	}
	if r := e.Record.Recorder; r == nil || r.Full() {
		return
	}
	end := composeEnd(e, o, exit)
	end.ID = jsonraw.OneLine(o.ID)
	e.Record.End(end)
}

// LastRow returns the row of this run's request for method with this id, otherwise of its last request
// for method, otherwise of its last request.
// Returns nil if the recording has no such row or cannot be read again. file is the file of
// --record, or "": it may contain other runs, even at the same time.
func (r *Recording) LastRow(file, method string, id json.RawMessage) *rows.Row {
	if r.Recorder == nil || r.read(file) != nil {
		return nil
	}
	row := r.capture.Row
	if file != "" {
		row = func(n int) *rows.Row { return r.capture.RowIn(r.runMark, n) }
	}
	var last *rows.Row
	for n := 1; row(n) != nil; n++ { // rows are numbered from 1
		next := row(n)
		if rows.IsByServer(next) {
			continue
		}
		if next.Method == method && id != nil && next.ID == string(id) {
			return next
		}
		// A later row replaces an earlier one, but a row with the method is kept for any without it.
		if last == nil || next.Method == method || last.Method != method {
			last = next
		}
	}
	return last
}

// Read returns the recording of this run so far. isOwn reports whether a row belongs to the run: file,
// the file of --record or "", may contain other runs. The recording is closed with the process.
func (r *Recording) Read(file string) (c *rows.Capture, isOwn func(*rows.Row) bool, err error) {
	if r.Recorder == nil {
		return nil, nil, fs.ErrNotExist
	}
	if err := r.read(file); err != nil {
		return nil, nil, err
	}
	return r.capture, func(row *rows.Row) bool {
		return file == "" || r.capture.Heads[row.RunIndex()].Mark == r.runMark
	}, nil
}

// read opens the recording of this run as r.capture, or reads the frames that were added since. file is
// the file that the run is written to; "" is the newest of the ring.
func (r *Recording) read(file string) error {
	r.Flush()
	if r.capture != nil {
		_, err := r.capture.Refresh()
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
	r.capture, err = rows.Open(file)
	return err
}
