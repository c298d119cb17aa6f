package control

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"time"

	"mcpc/internal/proxy"
)

// Version is that of the protocol: lines of JSON, an Order each way to the command and a Reply
// back. After the order "watch" Events come between the replies, from then on.
const Version = 1

// An Order is what a command is asked to do.
type Order struct {
	// Do is "add", "list" or "remove", about fault rules; "hello", "watch", "intercept",
	// "release", "edit", "drop", "answer" or "label".
	Do string `json:"do"`
	// Rules are the text of rules, and Source is where they are from.
	Rules  string `json:"rules,omitempty"`
	Source string `json:"source,omitempty"`
	// Number is that of the rule to remove, where 0 is all, or of the message.
	Number int `json:"number,omitempty"`
	// On and Filter are of intercept. Other connections may go on.
	On     bool   `json:"on,omitempty"`
	Filter string `json:"filter,omitempty"`
	// Raw is the message of edit, or the result of answer.
	Raw []byte `json:"raw,omitempty"`
	// Label is what the user calls the conversation.
	Label string `json:"label,omitempty"`
}

// A Reply is the answer to an order: the fault rules that are in force now, or an error.
type Reply struct {
	Rules   []proxy.ListedRule `json:"rules"`
	Removed int                `json:"removed,omitempty"`
	Hello   *Hello             `json:"hello,omitempty"`
	Error   string             `json:"error,omitempty"`
}

// A Hello says which command listens.
type Hello struct {
	Protocol int    `json:"protocol"`
	Pid      int    `json:"pid"`
	By       string `json:"by"` // "tap" or "proxy"
	Target   string `json:"target"`
	// Run is the number of its recording, 0 where it has none in the ring.
	Run     int    `json:"run,omitempty"`
	Version string `json:"version"`
	Label   string `json:"label,omitempty"`
}

// An Event says what has changed: a message is held or no longer held, or more have passed because
// there was no room for them.
type Event struct {
	Event  string      `json:"event"` // "held", "gone" or "passed"
	Held   *proxy.Held `json:"held,omitempty"`
	Number int         `json:"number,omitempty"`
}

const (
	// longestLine bounds a line of either side.
	longestLine = 64 << 20
	// orderTime is how long a connection may be open before its first order, and the only one
	// of Send may take; readTime is how long the other side may take to read and to reply.
	orderTime = 5 * time.Second
	readTime  = 30 * time.Second
)

// Send gives an order to the command that listens on a socket.
func Send(ctx context.Context, now time.Time, socket string, order Order) (reply Reply, err error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return reply, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(now.Add(orderTime))
	err = json.NewEncoder(conn).Encode(order)
	if err == nil {
		err = json.NewDecoder(io.LimitReader(conn, longestLine)).Decode(&reply)
	}
	return reply, err
}
