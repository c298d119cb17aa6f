package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"mcpc/internal/client/keepalive"
	"mcpc/internal/proxy"
)

// A peer is the connection to a command. It has no conn while its socket is being dialed, or if the
// Group cannot use the socket.
type peer struct {
	group *Group
	conn  net.Conn
	hello Hello
	// sending is locked while an order waits for its reply.
	sending sync.Mutex
	// replies has the reply to the order. It is closed at the end of the connection.
	replies chan Reply

	// The Group's mutex guards the fields below.
	held   []proxy.Held
	passed int
	isOver bool
}

// scan connects to new sockets, and forgets the deleted ones that the Group could not use.
func (g *Group) scan(ctx context.Context) {
	g.scanning.Lock()
	defer g.scanning.Unlock()
	present := map[string]bool{}
	var joining []func()
	for _, dir := range g.dirs() {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			pid, isSocket := strings.CutSuffix(e.Name(), socketExt)
			if !isSocket || strings.Trim(pid, "0123456789") != "" { // unreadyExt, or another file
				continue
			}
			path := filepath.Join(dir, e.Name())
			present[path] = true
			g.mu.Lock()
			if g.peers[path] == nil {
				g.peers[path] = &peer{} // no other scan dials it
				joining = append(joining, func() { g.join(path) })
			}
			g.mu.Unlock()
		}
	}
	runAll(ctx, joining)
	g.mu.Lock()
	defer g.mu.Unlock()
	for path, p := range g.peers {
		if !present[path] && p.conn == nil {
			delete(g.peers, path)
		}
	}
}

// runAll calls the functions concurrently, and waits for them for at most a second. A stopped command
// that does not reply therefore delays the caller only that long.
func runAll(ctx context.Context, all []func()) {
	var running sync.WaitGroup
	for _, do := range all {
		running.Go(do)
	}
	ctx, done := context.WithTimeout(ctx, time.Second)
	go func() {
		running.Wait()
		done()
	}()
	<-ctx.Done()
}

// join connects to a socket and adds the connection to peers. Then the command sends its held
// messages, and holds what the Group intercepts.
func (g *Group) join(path string) {
	ctx := g.ctx
	conn, err := keepalive.Dial(ctx, path)
	if err != nil {
		g.forget(path)
		return
	}
	p := &peer{group: g, conn: conn, replies: make(chan Reply, 1)}
	go p.read(path)
	reply, err := p.send(ctx, Order{Do: "hello"})
	usable := err == nil && reply.Hello != nil && reply.Hello.Protocol == Version
	if usable {
		p.hello = *reply.Hello
	}
	g.mu.Lock()
	if p.isOver || err != nil { // the next scan tries again
		g.mu.Unlock()
		conn.Close()
		g.forget(path)
		return
	}
	if !usable || g.ctx.Err() != nil { // a peer without a connection keeps scan from dialing again
		conn.Close()
		p = &peer{}
	}
	g.peers[path] = p
	// A later Intercept finds the peer in peers.
	on := g.intercepts
	text := g.filter
	g.mu.Unlock()
	if p.conn != nil {
		_, _ = p.send(ctx, Order{Do: "watch"})
	}
	if p.conn != nil && on {
		_, _ = p.send(ctx, Order{Do: "intercept", On: on, Filter: text})
	}
	g.signalChange()
}

// forget removes a socket without a connection, so that the next scan dials it again.
func (g *Group) forget(path string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p := g.peers[path]; p != nil && p.conn == nil {
		delete(g.peers, path)
	}
}

// send sends an order and waits for the reply. It returns ErrGone if the connection ends or the
// message of the order is not held any more, and other errors of the reply as they are. After a
// timeout it closes the connection.
func (p *peer) send(ctx context.Context, order Order) (Reply, error) {
	p.sending.Lock()
	defer p.sending.Unlock()
	_ = p.conn.SetWriteDeadline(p.group.o.Now().Add(readTime))
	if err := json.NewEncoder(p.conn).Encode(order); err != nil {
		p.conn.Close()
		return Reply{}, ErrGone
	}
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	select {
	case reply, ok := <-p.replies:
		if !ok {
			return reply, ErrGone
		}
		if reply.Error == ErrGone.Error() {
			return reply, ErrGone
		}
		if reply.Error != "" {
			return reply, errors.New(reply.Error)
		}
		return reply, nil
	case <-ctx.Done(): // a late reply would be taken for the reply to the next order
		p.conn.Close()
		return Reply{}, ctx.Err()
	}
}

// read reads replies and events until the connection ends, and then removes the peer, with its held
// messages, from the Group. path is the socket.
func (p *peer) read(path string) {
	lines := bufio.NewReaderSize(p.conn, 64<<10)
	for {
		var line struct {
			Reply
			Event
		}
		if err := readLine(lines, &line); err != nil {
			break
		}
		if line.Event.Event == "" {
			p.replies <- line.Reply
			continue
		}
		p.apply(line.Event)
	}
	close(p.replies)
	p.conn.Close()
	p.group.mu.Lock()
	p.isOver = true
	if p.group.peers[path] == p {
		delete(p.group.peers, path)
	}
	p.group.mu.Unlock()
	p.group.signalChange()
}

// apply updates the held messages by an event.
func (p *peer) apply(e Event) {
	p.group.mu.Lock()
	defer p.group.mu.Unlock()
	switch {
	case e.Event == "held" && e.Held != nil:
		p.held = append(p.held, *e.Held)
	case e.Event == "gone":
		p.held = slices.DeleteFunc(p.held, func(h proxy.Held) bool { return h.N == e.Number })
	case e.Event == "passed":
		p.passed = e.Number
	}
	p.group.signalChange()
}

// readLine reads a line of at most maxLine bytes and decodes its JSON into to. A longer line is
// io.ErrShortBuffer.
func readLine(from *bufio.Reader, to any) error {
	var line []byte
	for {
		part, err := from.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxLine {
			return io.ErrShortBuffer
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return err
		}
		return json.Unmarshal(line, to)
	}
}
