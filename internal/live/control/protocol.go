package control

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"time"

	"mcpc/internal/proxy"
)

// Version is the version of the protocol. Both sides write lines of JSON: Orders to the command,
// and one Reply to each Order. After the order "watch" the command also writes Events.
const Version = 1

// An Order is a request to a command.
type Order struct {
	// Do is "add", "list" or "remove" for fault rules, or else "hello", "watch", "intercept",
	// "release", "edit", "drop", "answer" or "label".
	Do string `json:"do"`
	// Rules is the text of rules to add, and Source names their origin.
	Rules  string `json:"rules,omitempty"`
	Source string `json:"source,omitempty"`
	// Number is the number of the rule to remove, 0 to remove all rules, or the number of a
	// message.
	Number int `json:"number,omitempty"`
	// On and Filter are the arguments of "intercept". Other connections can hold messages at the
	// same time.
	On     bool   `json:"on,omitempty"`
	Filter string `json:"filter,omitempty"`
	// Raw is the message of edit, or the result of answer.
	Raw []byte `json:"raw,omitempty"`
	// Label is the user's name for the conversation.
	Label string `json:"label,omitempty"`
}

// A Reply answers an order: with the active fault rules, or with an error.
type Reply struct {
	Rules   []proxy.ListedRule `json:"rules"`
	Removed int                `json:"removed,omitempty"`
	Hello   *Hello             `json:"hello,omitempty"`
	Error   string             `json:"error,omitempty"`
}

// A Hello describes the command that listens.
type Hello struct {
	Protocol int    `json:"protocol"`
	Pid      int    `json:"pid"`
	By       string `json:"by"` // "tap" or "proxy"
	Target   string `json:"target"`
	// Run is the number of the command's recording; 0 if it has no recording in the ring.
	Run     int    `json:"run,omitempty"`
	Version string `json:"version"`
	Label   string `json:"label,omitempty"`
}

// An Event reports a change: a message is held or no longer held, or messages passed because too
// many were held.
type Event struct {
	Event  string      `json:"event"` // "held", "gone" or "passed"
	Held   *proxy.Held `json:"held,omitempty"`
	Number int         `json:"number,omitempty"`
}

const (
	// maxLine limits a line of either side, in bytes.
	maxLine = 64 << 20
	// orderTime limits the wait for the first order of a connection, and the whole order of Send.
	orderTime = 5 * time.Second
	// readTime limits how long the other side may take to read a line and to reply.
	readTime = 30 * time.Second
)

// Send sends one order to the command that listens on a socket, and returns its reply.
func Send(ctx context.Context, now time.Time, socket string, order Order) (reply Reply, err error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return reply, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(now.Add(orderTime))
	err = json.NewEncoder(conn).Encode(order)
	if err == nil {
		err = json.NewDecoder(io.LimitReader(conn, maxLine)).Decode(&reply)
	}
	return reply, err
}
