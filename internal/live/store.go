package live

import (
	"strconv"
	"strings"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/capture/filter"
	"mcpc/internal/capture/rows"
)

// A Key names a row of a Store: the number of its run, 0 in files that are no run, and the
// number of the row in it, from 1. Unlike capture.Row.Number it does not change as the
// recording grows, and a row has the same Key if its recording is read again.
type Key struct{ Run, Index int }

// String is "42.3", in a file "3".
func (k Key) String() string {
	if k.Run == 0 {
		return strconv.Itoa(k.Index)
	}
	return strconv.Itoa(k.Run) + "." + strconv.Itoa(k.Index)
}

// ParseKey reads what String writes.
func ParseKey(text string) (k Key, ok bool) {
	run, index, both := strings.Cut(text, ".")
	if !both {
		run, index = "0", text
	}
	k.Run, _ = strconv.Atoi(run)
	k.Index, _ = strconv.Atoi(index)
	return k, k.String() == text
}

// KeyOf is the key of a row.
func KeyOf(r *rows.Row) Key {
	run, index := r.Numbers()
	return Key{run, index}
}

// A Talk names a conversation: the run and the connection in it. In a file that is no run
// Run counts the heads from 1 downwards: -1, -2.
type Talk struct{ Run, Conn int }

// Options say how a Store reads.
type Options struct {
	// Path is a capture, a bundle or a HAR; "" reads the Ring.
	Path string
	Ring *capture.Ring
	// Given is the capture of Path where that is in no file of its own; nil reads the file.
	Given *rows.Capture
	// Open opens a file as a command does.
	Open func(path string) (*rows.Capture, error)
	Now  func() time.Time
	// Judge answers what filters ask of findings.
	Judge filter.Judge
	// Hide is called with each capture that is opened, and with one in which a run began: it
	// hides what is secret by now. What comes later is hidden by the same secrets.
	Hide func(*rows.Capture)
	// Most is how many rows of a Ring are kept, the newest; 0 is 50,000.
	Most int
	// Indexes is the folder for indexes of large files, as of capture.BeginIndexed; "" is none.
	Indexes string
	// Marks keeps marks and notes; nil keeps them in memory only.
	Marks MarkFile
}

// A Query selects rows.
type Query struct {
	// Filter is in the language of package filter; "" is all.
	Filter string
	// Sort is "time", "took", "size", "first", "name", "method", "channel", "server" or
	// "client", with "-" before it from the greatest; "" is "time".
	Sort string
	// Talk selects a conversation; the zero Talk is all.
	Talk Talk
	// Only selects rows by key; nil is all.
	Only []Key
}

// A Found is what a Query found: keys in their order. Pending are the rows whose bodies were
// not searched yet; the Store goes on searching and a Change follows.
type Found struct {
	Keys    []Key
	Pending int
	// Seq is that of the last change that is in it.
	Seq uint64
}

// A Status is what is known of the whole.
type Status struct {
	// Seq counts the changes.
	Seq uint64 `json:"seq"`
	// Rows are those kept, Dropped the older ones of recordings that were read, left out because
	// there are too many.
	Rows    int `json:"rows"`
	Dropped int `json:"dropped,omitempty"`
	// Most is how many rows are kept; 0 is all.
	Most int `json:"most,omitempty"`
	// Loading is set until all that was there has been read.
	Loading bool `json:"loading,omitempty"`
	Open    int  `json:"open"`
	Failed  int  `json:"failed"`
	// Lost are the frames that recorders left out.
	Lost int `json:"lost,omitempty"`
	// Warnings are about files that cannot be read, or lines.
	Warnings []string `json:"warnings,omitempty"`
}

// A Conversation is one connection of a client to a server, as a list of them shows it.
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
	// First marks the one to show first: the newest of another client's, else the newest.
	First bool
}
