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

// A Row is one exchange as a person counts it, with its notifications, retries,
// resumed streams and rounds included; or a run in which nothing was exchanged,
// for the sake of its ending. It holds what a table and a filter need; the bytes
// stay in the file, see Frames.
type Row struct {
	// Run is the number of the run in the ring, 0 in other files; Index counts the
	// rows of its run from 1, in other files those of the whole file.
	Run, Index int

	exchange.State

	// Target is the URL or the command of the server.
	Target string
	// Guesses are the requests to which some messages of a row that is Apart may belong, each
	// the only one that waited for its answer then.
	Guesses []*Row
	// Within is the request on whose stream the server asked; with Guess set, the only one
	// that waited for its answer then. It is nil elsewhere.
	Within *Row
	// SameAs names an earlier request for the same, which failed on the way; nil elsewhere. It has only what its Number
	// takes, so that a client that tries for ever does not keep all its rows in memory.
	SameAs *Row
	// Conn is the number of the conversation in its run.
	Conn int
	// By is what recorded: "command", "tap", "proxy".
	By string
	// Again names the exchange that this one issued again, "" elsewhere.
	Again string
	// Own is set on the exchange that the run was about: the last that opened or
	// closed no conversation.
	Own bool
	// Guess is set if Within is a guess.
	Guess bool
	// Elsewhere is set where another part of the recording has more of the row, or the
	// same.
	Elsewhere bool
	// Repeated is set where it was cancelled in another part, and an answer may still come.
	Repeated bool

	capture *Capture
	// nth is its number in the file, from 0.
	nth int
	// conn is the row's conversation; nil where nothing crossed.
	conn *conn
	// head is the index of its run's head.
	head int
	// lines are where its frames stand in the file, in no order.
	lines rowLines
}

// What replaces the method on a row that is Apart.
const (
	MethodStream = "(server stream)"
	MethodPipe   = "(conversation)"
)

// Remarks are the notes, and before them to what the row belongs too, or may.
func (r *Row) Remarks() string {
	var parts []string
	switch {
	case r.Within != nil && r.Guess:
		parts = append(parts, "sent by the server, perhaps during "+r.Within.Number())
	case r.Within != nil:
		parts = append(parts, "sent by the server during "+r.Within.Number())
	case r.Dir == wire.Received && !r.Apart:
		parts = append(parts, "sent by the server")
	}
	if r.SameAs != nil {
		parts = append(parts, "same request as "+r.SameAs.Number())
	}
	if r.Cancel != nil && r.Cancel.Late {
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

// GuessedNumbers name the Guesses.
func (r *Row) GuessedNumbers() (numbers []string) {
	for _, other := range r.Guesses {
		numbers = append(numbers, other.Number())
	}
	return numbers
}

// Size is the bytes of all messages, both ways.
func (r *Row) Size() int64 { return r.Sent + r.Received }

// Unended reports a row without an answer in a recording without an end: the recorder was
// killed, or still records.
func (r *Row) Unended() bool {
	_, ended := r.capture.endSpans[r.head]
	return r.Open() && !ended && !r.Elsewhere
}

// RunOver reports whether the run in which the row stands has ended, as far as one can
// see: of one that was killed nothing says so.
func (r *Row) RunOver() bool { return r.capture.closedRuns[r.head] }

// Waits reports whether an answer may still come, or more on a stream: the run has no end, and
// its recorder runs, as far as one can see.
func (r *Row) Waits() bool {
	if !r.Open() || r.RunOver() || r.Method == MethodPipe || r.capture.Bundled() {
		return false
	}
	if pid := r.Head().Pid; pid > 0 {
		return processExists(pid)
	}
	return r.By != capture.ByCommand // one that was killed and one that runs look alike
}

// runs reports whether there is a process.
func processExists(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer func() { _ = p.Release() }()
	return !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone) // other errors are those of a process that is there
}

// Ended is when the row came to its end, and where it came to none when it began:
// one that waits for ever is not the newest.
func (r *Row) Ended() time.Time {
	if r.Open() {
		return r.Time
	}
	return r.LastFrame()
}

// LastFrame is when the row's last frame crossed, as far as its Duration counts them.
func (r *Row) LastFrame() time.Time { return r.Time.Add(r.Duration + r.Held) }

// Settled reports whether nothing more is to be expected: others' exchanges go on
// until they are answered, and a command's is looked for also where it was killed.
func (r *Row) IsFinal() bool { return r.By == capture.ByCommand || !r.Open() }

// LaterThan reports whether r ended after other, or is settled and other is not; other
// may be nil.
func (r *Row) LaterThan(other *Row) bool {
	if other == nil || r.IsFinal() != other.IsFinal() {
		return other == nil || r.IsFinal()
	}
	return r.Ended().After(other.Ended())
}

// Number is how a person names the row: "42.3" is the third of run 42, "42" the
// only one, and the only one that a tap or a proxy will have had; in a file that is
// no run it is "3".
func (r *Row) Number() string {
	_, ended := r.capture.endSpans[r.head]
	run, index := r.Numbers()
	if run == 0 {
		return strconv.Itoa(index)
	}
	if index == 1 && r.capture.count == 1 && (ended || r.By == capture.ByCommand) {
		return strconv.Itoa(run)
	}
	return strconv.Itoa(run) + "." + strconv.Itoa(index)
}

// Numbers returns the Run and the Index of the row. If a file has several runs of one number, as two
// exports put together have, the rows of all but the first run get 0 and are counted from the
// beginning of the file, so that no two rows have the same numbers.
func (r *Row) Numbers() (run, index int) {
	if r.Run > 0 && r.capture.repeated[r.head] {
		return 0, r.nth + 1
	}
	return r.Run, r.Index
}

// named returns as much of the row as its Number takes.
func (r *Row) numberOnly() *Row {
	return &Row{Run: r.Run, Index: r.Index, By: r.By, capture: r.capture, nth: r.nth, head: r.head}
}

// Path is the file in which the row stands.
func (r *Row) Path() string { return r.capture.Path }

// Head is that of the run in which the row stands.
func (r *Row) Head() capture.Head { return r.capture.Heads[r.head] }

// A RowKey identifies a row in a Ring or a file. It stays the same while the recording grows, and it is the
// same in every reader, whether that reads on, reads the file anew or takes the rows from an index.
type RowKey struct {
	// Run is the number of the run, 0 in a file that is no run.
	Run int
	// Offset is where the line of the row's first frame begins in its file; for a row without frames it is
	// the offset of its run's head.
	Offset int64
	// Item is the position of the message in its batch, -1 outside a batch.
	Item int
}

// Key returns the identity of the row.
func (r *Row) Key() RowKey {
	if len(r.lines) == 0 {
		return RowKey{Run: r.Run, Offset: r.capture.headSpans[r.head].at, Item: -1}
	}
	first, _ := r.lines.lineAt(0, 0)
	return RowKey{Run: r.Run, Offset: first.at, Item: int(first.item)}
}

// A RunID identifies a run of a capture that is open.
type RunID struct {
	capture *Capture
	head    int
}

// RunID identifies the run in which the row stands.
func (r *Row) RunID() RunID { return RunID{r.capture, r.head} }

// ByServer reports what the server sent of its own accord.
func ByServer(r *Row) bool { return r.Apart || r.Dir == wire.Received }

// Client and Server are what the two sides of the row's conversation call themselves,
// with their versions; "" where neither has said so.
func (r *Row) Client() string { return r.ofConn(func(c *conn) string { return c.Client.String() }) }

// Server is like Client.
func (r *Row) Server() string { return r.ofConn(func(c *conn) string { return c.Server.String() }) }

// ClientName and serverName are their names alone.
func (r *Row) ClientName() string { return r.ofConn(func(c *conn) string { return c.Client.Name }) }

func (r *Row) ServerName() string { return r.ofConn(func(c *conn) string { return c.Server.Name }) }

// Session is the hash in place of the id of the row's session, or the id itself where it is
// not hidden; "" where it has none.
func (r *Row) Session() string { return r.ofConn(func(c *conn) string { return c.Session }) }

// HasConn reports whether Conn is the number of a conversation: something crossed.
func (r *Row) HasConn() bool { return r.conn != nil }

func (r *Row) ofConn(value func(c *conn) string) string {
	if r.conn == nil {
		return ""
	}
	return value(r.conn)
}
