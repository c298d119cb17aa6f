package live

import (
	"strconv"
	"strings"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/capture/filter"
	"mcpc/internal/capture/rows"
)

// A Key identifies a row of a Store: the number of its run (0 if the file is not in the ring) and
// the number of the row in the run, from 1. Unlike capture.Row.Number it does not change as the
// recording grows. A row has the same Key when its recording is read again.
type Key struct{ Run, Index int }

// String returns "42.3", or "3" if the run is 0.
func (k Key) String() string {
	if k.Run == 0 {
		return strconv.Itoa(k.Index)
	}
	return strconv.Itoa(k.Run) + "." + strconv.Itoa(k.Index)
}

// ParseKey parses the output of Key.String. It reports false if String would not return the text.
func ParseKey(text string) (k Key, ok bool) {
	run, index, both := strings.Cut(text, ".")
	if !both {
		run = "0"
		index = text
	}
	k.Run, _ = strconv.Atoi(run)
	k.Index, _ = strconv.Atoi(index)
	return k, k.String() == text // rejects texts such as "3.0" and "+1"
}

// KeyOf returns the key of a row.
func KeyOf(r *rows.Row) Key {
	run, index := r.Numbers()
	return Key{run, index}
}

// A Talk identifies a conversation by its run and the connection in it. In a file that is not in
// the ring, Run counts the heads of the file downwards: -1, -2.
type Talk struct{ Run, Conn int }

// Options configures a Store.
type Options struct {
	// Path is a capture, a bundle or a HAR file. If it is empty, the Store reads the Ring.
	Path string
	Ring *capture.Ring
	// Capture is an already opened capture of Path, for input that is not a file. If it is nil, the
	// Store opens Path.
	Capture *rows.Capture
	// Open opens a file in the way of the running command.
	Open func(path string) (*rows.Capture, error)
	Now  func() time.Time
	// Judge answers a filter's questions about findings.
	Judge filter.Judge
	// Hide is called with each capture after it is opened, and again when a new run begins in it. It
	// hides the secrets found so far; later rows are hidden with the same secrets.
	Hide func(*rows.Capture)
	// MaxRows limits the rows kept of a Ring; the newest rows are kept. 0 means 50,000.
	MaxRows int
	// Indexes is the directory for the indexes of large files, see capture.BeginIndexed. If it is
	// empty, no index is used.
	Indexes string
	// Marks stores marks and notes. If it is nil, they are kept in memory only.
	Marks MarkFile
}

// A Query selects and orders rows.
type Query struct {
	// Filter is an expression in the language of package filter. The empty filter matches all rows.
	Filter string
	// Sort is "time", "took", "size", "first", "name", "method", "channel", "server" or "client". A
	// leading "-" reverses the order. Empty means "time".
	Sort string
	// Talk restricts the query to one conversation. The zero Talk means all.
	Talk Talk
	// Only restricts the query to the given keys. Nil means all.
	Only []Key
	// Keep is a row of the conversation that is selected even if it does not match Filter. The zero Key means none.
	Keep Key
}

// A Found is the result of a Query.
type Found struct {
	// Keys are the keys of the matching rows, in the order of the Query.
	Keys []Key
	// Pending is the number of rows whose bodies are not searched yet. The search continues, and
	// the Store raises a change when it finds more.
	Pending int
	// Seq is the number of the last change that the result includes.
	Seq uint64
}

// A Status describes a Store as a whole.
type Status struct {
	// Seq is the number of changes so far.
	Seq uint64 `json:"seq"`
	// Rows is the number of rows kept.
	Rows int `json:"rows"`
	// Dropped is the number of rows that were read and left out because Most newer rows are kept.
	Dropped int `json:"dropped,omitempty"`
	// MaxRows is the largest number of rows kept; 0 means no limit.
	MaxRows int `json:"most,omitempty"`
	// Loading is true until the recordings that existed at the start are read.
	Loading bool `json:"loading,omitempty"`
	Open    int  `json:"open"`
	Failed  int  `json:"failed"`
	// Lost is the number of frames that recorders left out.
	Lost int `json:"lost,omitempty"`
	// Warnings name files and lines that cannot be read.
	Warnings []string `json:"warnings,omitempty"`
}

// A Conversation is one connection of a client to a server, as lists of conversations show it.
type Conversation struct {
	Talk           Talk
	Client, Server string
	Target, By     string
	Revision       string
	Pid            int
	Began, Last    time.Time
	Rows, Open     int
	Failed         int
	Over           bool
	// First marks the conversation to show first: the newest of a client other than mcpc, or else
	// the newest.
	First bool
}
