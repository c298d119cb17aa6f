package faulty

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"time"

	"mcpc/internal/capture/fault"
	"mcpc/internal/usage"
)

// An Order is what mcpc fault asks of a running command: one line of JSON each way.
type Order struct {
	// Do is "add", "list" or "remove".
	Do string `json:"do"`
	// Rules are the text of rules, and Source is where they are from.
	Rules  string `json:"rules,omitempty"`
	Source string `json:"source,omitempty"`
	// Number is that of the rule to remove; 0 is all.
	Number int `json:"number,omitempty"`
}

// A Reply is the answer: the rules that are in force now, or an error.
type Reply struct {
	Rules   []fault.Listed `json:"rules"`
	Removed int            `json:"removed,omitempty"`
	Error   string         `json:"error,omitempty"`
}

const (
	longestOrder = 1 << 20
	orderTime    = 5 * time.Second
)

// listen takes orders on a Unix socket that only this user can use.
func (s *Faults) listen(path string) (done func(), err error) {
	if runtime.GOOS == "windows" {
		return nil, usage.New("--control needs a Unix socket that only its owner can use, which Windows does not have", "")
	}
	if conn, err := net.Dial("unix", path); err == nil {
		conn.Close()
		return nil, usage.New("--control: another process listens on "+path, "name another socket")
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() != os.ModeSocket {
		return nil, usage.New("--control: "+path+" is no socket", "name another socket")
	}
	// The name is given once the mode is set: a socket that is dead is replaced.
	_ = os.Remove(path + ".new") // of a process that was killed
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path + ".new", Net: "unix"})
	if err != nil {
		return nil, usage.New("--control: "+err.Error(), "name a socket in a directory of yours")
	}
	if err = os.Chmod(path+".new", 0o600); err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		l.Close() // and removes it
		return nil, usage.New("--control: "+err.Error(), "")
	}
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
	return func() {
		l.Close()
		_ = os.Remove(path)
	}, nil
}

func (s *Faults) serve(conn net.Conn) {
	defer conn.Close()
	_ = conn.SetDeadline(s.f.Now().Add(orderTime))
	line, err := bufio.NewReader(io.LimitReader(conn, longestOrder)).ReadBytes('\n')
	var order Order
	if err == nil {
		err = json.Unmarshal(line, &order)
	}
	var reply Reply
	if err == nil {
		reply, err = s.obey(order)
	}
	if err != nil {
		reply.Error = err.Error()
	}
	_ = json.NewEncoder(conn).Encode(reply)
}

func (s *Faults) obey(order Order) (reply Reply, err error) {
	switch order.Do {
	case "add":
		rules, err := fault.Parse(order.Source, order.Rules, s.f.Now())
		if err == nil {
			err = s.Set.Add(rules)
		}
		if err != nil {
			return reply, err
		}
	case "remove":
		if reply.Removed = s.Set.Remove(order.Number); reply.Removed == 0 && order.Number > 0 {
			return reply, errors.New("there is no rule with this number")
		}
	case "list":
	default:
		return reply, errors.New("unknown order")
	}
	reply.Rules = s.Set.List(false)
	for i, r := range reply.Rules {
		reply.Rules[i].Text = s.f.Secrets.Text(r.Text)
	}
	return reply, nil
}

// Send gives an order to the command that listens on a socket.
func Send(ctx context.Context, now time.Time, socket string, order Order) (reply Reply, err error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return reply, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(now.Add(orderTime))
	if err = json.NewEncoder(conn).Encode(order); err == nil {
		err = json.NewDecoder(io.LimitReader(conn, 64<<20)).Decode(&reply)
	}
	return reply, err
}
