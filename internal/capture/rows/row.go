package rows

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/exchange"
	"mcpc/internal/wire"
)

// A Row is one exchange as a person counts it, with its notifications, retries, resumed streams and
// rounds. A run without an exchange has one row for its outcome. A Row has the values that tables
// and filters need. The bytes stay in the file; see Frames.
type Row struct {
	// Run is the number of the run in the ring; 0 in other files.
	Run int
	// Index is the number of the row in its run, from 1; in other files its number in the file.
	Index int

	exchange.State

	// Target is the URL or the command of the server.
	Target string
	// Guesses are requests that messages of a separate row may belong to: each was the only open
	// request at the time of a message.
	Guesses []*Row
	// Within is the request on whose stream the server sent this one, or nil. If Guess is set, it
	// is the only request that was open then.
	Within *Row
	// SameAs is an earlier identical request that failed in transport, or nil. It has only the
	// fields for its Number, so that the rows of a client that retries for ever can be freed.
	SameAs *Row
	// Conn is the number of the conversation in its run.
	Conn int
	// By is the By of the run's head: what recorded it.
	By string
	// ReplayOf names the exchange that this one replays, or "".
	ReplayOf string
	// IsMain is set on the exchange that the command was about.
	IsMain bool
	// IsGuess is set if Within is a guess.
	IsGuess bool
	// ListedElsewhere is set if another part of the recording lists the exchange.
	ListedElsewhere bool
	// CancelledEarlier is set if the exchange was cancelled in an earlier part and may still get a response.
	CancelledEarlier bool

	capture *Capture
	// fileIndex is the number of the row in the file, from 0.
	fileIndex int
	// conn is the row's conversation; nil if nothing was sent or received.
	conn *conn
	// headIndex is the index in Heads of the row's run.
	headIndex int
	// lines are the places of the row's frames in the file, in no order.
	lines rowLines
}

// The methods of rows that are separate.
const (
	MethodStream = "(server stream)"
	MethodPipe   = "(conversation)"
)

// Remarks returns the relations of the row to other rows, and its Notes, as a person reads them. It
// returns "" if the row has neither.
func (r *Row) Remarks() string {
	var parts []string
	switch {
	case r.Within != nil && r.IsGuess:
		parts = append(parts, "sent by the server, perhaps during "+r.Within.Number())
	case r.Within != nil:
		parts = append(parts, "sent by the server during "+r.Within.Number())
	case r.Dir == wire.Received && !r.IsSeparate:
		parts = append(parts, "sent by the server")
	}
	if r.SameAs != nil {
		parts = append(parts, "same request as "+r.SameAs.Number())
	}
	if r.Cancel != nil && r.Cancel.IsLate {
		parts = append(parts, "answered late")
	}
	if notes := r.Notes.String(); notes != "" {
		parts = append(parts, notes)
	}
	if numbers := r.GuessedNumbers(); len(numbers) > 0 {
		const maxNumbers = 3
		text := "perhaps of " + strings.Join(numbers[:min(maxNumbers, len(numbers))], ", ")
		if more := len(numbers) - maxNumbers; more > 0 {
			text += " and " + strconv.Itoa(more) + " more"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// GuessedNumbers returns the numbers of the Guesses.
func (r *Row) GuessedNumbers() []string {
	var numbers []string
	for _, other := range r.Guesses {
		numbers = append(numbers, other.Number())
	}
	return numbers
}

// Size returns the bytes of all messages in both directions.
func (r *Row) Size() int64 { return r.Sent + r.Received }

// LacksEnd reports whether the row has no response and its run has no End: the recorder was killed
// or is still recording.
func (r *Row) LacksEnd() bool {
	_, ended := r.capture.endSpans[r.headIndex]
	return r.IsOpen() && !ended && !r.ListedElsewhere
}

// IsRunOver reports whether the row's run has ended. It does not notice that the recorder was killed.
func (r *Row) IsRunOver() bool { return r.capture.closedRuns[r.headIndex] }

// IsListening reports whether the row is a stream for messages that belong to no request. It is open for as long as
// its client runs.
func (r *Row) IsListening() bool {
	return r.Method == MethodStream || r.Method == "subscriptions/listen"
}

// IsWaiting reports whether a response, or another message of a stream, may still be received: the run
// has not ended and its recorder seems to run.
func (r *Row) IsWaiting() bool {
	if !r.IsOpen() || r.IsRunOver() || r.Method == MethodPipe || r.capture.IsBundled() {
		return false
	}
	if pid := r.Head().Pid; pid > 0 {
		return processExists(pid)
	}
	return r.By != capture.ByCommand // whether a command without a Pid was killed is unknown
}

// processExists reports whether a process with this id runs.
func processExists(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer func() { _ = p.Release() }()
	return !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone) // any other error is of a process that exists
}

// EndTime returns when the row ended. For an open row it returns when it began, so that a row that
// waits for ever is not the newest.
func (r *Row) EndTime() time.Time {
	if r.IsOpen() {
		return r.Time
	}
	return r.LastFrameTime()
}

// LastFrameTime returns the time of the row's last frame that counts for its Duration.
func (r *Row) LastFrameTime() time.Time { return r.Time.Add(r.Duration + r.Held) }

// IsFinal reports whether the row will not change: it has an outcome, or a command recorded it.
func (r *Row) IsFinal() bool { return r.By == capture.ByCommand || !r.IsOpen() }

// LaterThan reports whether r ended after other. A final row is later than a row that is not final.
// other may be nil.
func (r *Row) LaterThan(other *Row) bool {
	if other == nil {
		return true
	}
	if r.IsFinal() != other.IsFinal() {
		return r.IsFinal()
	}
	return r.EndTime().After(other.EndTime())
}

// Number returns the number of the row as a person writes it. "42.3" is the third row of run 42.
// "42" is the only row of run 42, if the run has no more rows to come. "3" is the third row of a
// file that is no run.
func (r *Row) Number() string {
	_, ended := r.capture.endSpans[r.headIndex]
	run, index := r.Numbers()
	if run == 0 {
		return strconv.Itoa(index)
	}
	isOnly := index == 1 && r.capture.count == 1 && (ended || r.By == capture.ByCommand)
	if isOnly {
		return strconv.Itoa(run)
	}
	return strconv.Itoa(run) + "." + strconv.Itoa(index)
}

// Numbers returns the Run and the Index of the row. If a file has several runs with the same
// number, the rows of all but the first of them get run 0 and their number in the file, so that no
// two rows have the same numbers.
func (r *Row) Numbers() (run, index int) {
	if r.Run > 0 && r.capture.repeatedRuns[r.headIndex] {
		return 0, r.fileIndex + 1
	}
	return r.Run, r.Index
}

// numberOnly returns a row with only the fields for its Number.
func (r *Row) numberOnly() *Row {
	return &Row{Run: r.Run, Index: r.Index, By: r.By, capture: r.capture, fileIndex: r.fileIndex, headIndex: r.headIndex}
}

// Path returns the path of the file with the row.
func (r *Row) Path() string { return r.capture.Path }

// Head returns the head of the row's run.
func (r *Row) Head() capture.Head { return r.capture.Heads[r.headIndex] }

// A RowKey identifies a row in a Ring or a file. It stays the same while the recording grows, and
// it is the same in every reader, whether the reader reads on, reads the file again or takes the
// rows from an index.
type RowKey struct {
	// Run is the number of the run; 0 in a file that is no run.
	Run int
	// Offset is the offset in the file of the row's first frame, or of its run's head if it has no frames.
	Offset int64
	// Item is the position of the message in its batch, -1 outside a batch.
	Item int
}

// Key returns the identity of the row.
func (r *Row) Key() RowKey {
	if len(r.lines) == 0 {
		return RowKey{Run: r.Run, Offset: r.capture.headSpans[r.headIndex].offset, Item: -1}
	}
	first, _ := r.lines.lineAt(0, 0)
	return RowKey{Run: r.Run, Offset: first.offset, Item: int(first.item)}
}

// A RunID identifies a run of a capture that is open.
type RunID struct {
	capture *Capture
	head    int
}

// RunID identifies the run of the row.
func (r *Row) RunID() RunID { return RunID{r.capture, r.headIndex} }

// IsByServer reports whether the server sent the request or the messages of the row of its own
// accord.
func IsByServer(r *Row) bool { return r.IsSeparate || r.Dir == wire.Received }

// Client returns the name and version of the row's client; "" if they are unknown.
func (r *Row) Client() string { return r.connValue(func(c *conn) string { return c.Client.String() }) }

// Server returns the name and version of the row's server; "" if they are unknown.
func (r *Row) Server() string { return r.connValue(func(c *conn) string { return c.Server.String() }) }

// ClientName returns the name of the row's client, without its version.
func (r *Row) ClientName() string { return r.connValue(func(c *conn) string { return c.Client.Name }) }

// ServerName returns the name of the row's server, without its version.
func (r *Row) ServerName() string { return r.connValue(func(c *conn) string { return c.Server.Name }) }

// Session returns the hash of the row's session id, or the id itself if it is not hidden; ""
// without a session.
func (r *Row) Session() string { return r.connValue(func(c *conn) string { return c.Session }) }

// HasConn reports whether the row has a conversation, so that Conn is its number.
func (r *Row) HasConn() bool { return r.conn != nil }

// connValue returns a value of the row's conversation; "" if the row has no conversation.
func (r *Row) connValue(value func(c *conn) string) string {
	if r.conn == nil {
		return ""
	}
	return value(r.conn)
}
