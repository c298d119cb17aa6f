package control

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"mcpc/internal/proxy"
)

// A Server receives orders for a command.
type Server struct {
	// Desk carries out the orders. Orders about messages are only allowed if Live is set.
	Desk *proxy.Desk
	Live bool
	// Hello describes the command. The Server adds the version of the protocol and the label.
	Hello func() Hello
	Now   func() time.Time
	// HideSecrets hides secrets in the text of a rule.
	HideSecrets func(string) string

	mu    sync.Mutex
	label string
}

const (
	// socketExt is the extension of a socket's name.
	socketExt = ".sock"
	// unreadyExt is appended to the name until the socket can be used.
	unreadyExt = ".new"
)

// ErrTaken is returned for a path on which a process listens.
var ErrTaken = errors.New("another process listens on it")

// ErrNoSocket is returned for a path of a file that is not a socket.
var ErrNoSocket = errors.New("it is not a socket")

// Listen receives orders on a Unix socket until done is called. Only this user can use the socket.
// Listen replaces the socket of an ended process.
func (s *Server) Listen(path string) (done func(), err error) {
	if conn, err := net.Dial("unix", path); err == nil {
		conn.Close()
		return nil, ErrTaken
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() != fs.ModeSocket {
		return nil, ErrNoSocket
	}
	_ = os.Remove(path + unreadyExt) // left over from a killed process
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path + unreadyExt, Net: "unix"})
	if err != nil {
		return nil, err
	}
	// The socket gets its name once only this user can use it.
	err = os.Chmod(path+unreadyExt, 0o600)
	if err == nil {
		err = os.Rename(path+unreadyExt, path)
	}
	if err != nil {
		l.Close() // also removes the file
		return nil, err
	}
	// The listener knows only the old name; done removes the file.
	l.SetUnlinkOnClose(false)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(conn)
		}
	}()
	return sync.OnceFunc(func() { // once: another process may take the path afterwards
		l.Close()
		_ = os.Remove(path)
	}), nil
}

// A client is a connection. It owns the filter that selects the messages it holds.
type client struct {
	server *Server
	conn   net.Conn
	// writing is locked while a line is written.
	writing sync.Mutex
	// watches is closed to end the events; nil without events.
	watches chan struct{}
}

// serve carries out orders until the connection ends, and then releases the messages that it held.
func (s *Server) serve(conn net.Conn) {
	c := &client{server: s, conn: conn}
	defer conn.Close()
	if s.Live {
		defer s.Desk.StopIntercept(c, "the view has ended")
	}
	defer func() {
		if c.watches != nil {
			close(c.watches)
		}
	}()
	lines := bufio.NewReaderSize(conn, 4<<10)
	_ = conn.SetReadDeadline(s.Now().Add(orderTime))
	for {
		var order Order
		err := readLine(lines, &order)
		if err != nil && !isInvalidOrder(err) { // the connection ended
			return
		}
		var reply Reply
		if err == nil {
			reply, err = c.obey(order)
		}
		if err != nil {
			reply.Error = err.Error()
		}
		if c.write(reply) != nil {
			return
		}
		_ = conn.SetReadDeadline(time.Time{}) // a view may send no order for hours
	}
}

// isInvalidOrder reports whether an error is about the JSON of a line, not about the connection.
func isInvalidOrder(err error) bool {
	_, isSyntax := errors.AsType[*json.SyntaxError](err)
	_, isType := errors.AsType[*json.UnmarshalTypeError](err)
	return isSyntax || isType
}

// write writes a line. It closes the connection of a client that does not read.
func (c *client) write(line any) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_ = c.conn.SetWriteDeadline(c.server.Now().Add(readTime))
	err := json.NewEncoder(c.conn).Encode(line)
	if err != nil {
		c.conn.Close()
	}
	return err
}

// obey carries out an order. Orders about messages are only known if Server.Live is set.
func (c *client) obey(order Order) (Reply, error) {
	s := c.server
	switch order.Do {
	case "add", "list", "remove":
		return s.obeyRules(order)
	case "hello":
		s.mu.Lock()
		defer s.mu.Unlock()
		hello := s.Hello()
		hello.Protocol = Version
		hello.Label = s.label
		return Reply{Hello: &hello}, nil
	case "label":
		s.mu.Lock()
		defer s.mu.Unlock()
		s.label = order.Label
		return Reply{}, nil
	}
	if !s.Live { // reply as an older mcpc does, which has no orders about messages
		return Reply{}, fmt.Errorf("unknown order %q", order.Do)
	}
	return Reply{}, c.obeyHold(order)
}

// obeyRules changes and lists the fault rules: the reply has all active rules after any of the
// three orders. If a rule is invalid, no rule is added.
func (s *Server) obeyRules(order Order) (reply Reply, err error) {
	switch order.Do {
	case "add":
		rules, err := proxy.ParseRules(order.Source, order.Rules, s.Now())
		if err == nil {
			err = s.Desk.Add(rules)
		}
		if err != nil {
			return reply, err
		}
	case "remove":
		reply.Removed = s.Desk.Remove(order.Number)
		if reply.Removed == 0 && order.Number > 0 {
			return reply, errors.New("there is no rule with this number")
		}
	}
	reply.Rules = s.Desk.Rules(false)
	for i, r := range reply.Rules {
		reply.Rules[i].Text = s.HideSecrets(r.Text)
	}
	return reply, nil
}

// obeyHold carries out an order about messages.
func (c *client) obeyHold(order Order) error {
	desk := c.server.Desk
	switch order.Do {
	case "watch":
		if c.watches == nil {
			c.watches = make(chan struct{})
			go c.writeEvents(c.watches)
		}
		return nil
	case "intercept":
		if !order.On {
			desk.StopIntercept(c, "")
			return nil
		}
		return desk.Intercept(c, order.Filter)
	case "release":
		return desk.Decide(order.Number, proxy.Ruling{How: proxy.Released})
	case "edit":
		return desk.Decide(order.Number, proxy.Ruling{How: proxy.Edited, Raw: order.Raw})
	case "drop":
		return desk.Decide(order.Number, proxy.Ruling{How: proxy.Dropped})
	case "answer":
		return desk.Decide(order.Number, proxy.Ruling{How: proxy.Answered, Raw: order.Raw})
	}
	return fmt.Errorf("unknown order %q", order.Do)
}

// writeEvents writes the differences between two states of the Desk as events, until done is closed
// or the client does not read. The first events are for all messages that are held already.
func (c *client) writeEvents(done <-chan struct{}) {
	changed, end := c.server.Desk.Changes()
	defer end()
	known := map[int]bool{} // the held messages that the client knows
	passed := 0
	for {
		held, count := c.server.Desk.List()
		var events []Event
		for n := range known {
			if !slices.ContainsFunc(held, func(h proxy.Held) bool { return h.N == n }) {
				delete(known, n)
				events = append(events, Event{Event: "gone", Number: n})
			}
		}
		for i := range held {
			if !known[held[i].N] {
				known[held[i].N] = true
				events = append(events, Event{Event: "held", Held: &held[i]})
			}
		}
		if count != passed {
			passed = count
			events = append(events, Event{Event: "passed", Number: count})
		}
		for _, e := range events {
			if c.write(e) != nil {
				return
			}
		}
		select {
		case <-changed:
		case <-done:
			return
		}
	}
}
