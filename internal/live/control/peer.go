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

// A peer is the connection to a command, or a socket that is none for a Group, without a conn.
type peer struct {
	g     *Group
	conn  net.Conn
	hello Hello
	// turn lets one order be under way at a time; replies has its reply, and is closed at the
	// end of the connection.
	turn    sync.Mutex
	replies chan Reply

	// The Group's mutex guards what follows.
	held   []proxy.Held
	passed int
	over   bool
}

// look connects to the sockets that are new.
func (g *Group) look(ctx context.Context) {
	g.looking.Lock()
	defer g.looking.Unlock()
	there := map[string]bool{}
	var joining []func()
	for _, dir := range g.dirs() {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if pid, ok := strings.CutSuffix(e.Name(), socketExt); !ok || strings.Trim(pid, "0123456789") != "" {
				continue
			}
			path := filepath.Join(dir, e.Name())
			there[path] = true
			g.mu.Lock()
			if g.peers[path] == nil {
				g.peers[path] = &peer{}
				joining = append(joining, func() { g.join(path) })
			}
			g.mu.Unlock()
		}
	}
	atOnce(ctx, joining)
	g.mu.Lock()
	defer g.mu.Unlock()
	for path, p := range g.peers {
		if !there[path] && p.conn == nil {
			delete(g.peers, path)
		}
	}
}

// atOnce does things with several commands. One that is stopped, and does not reply, keeps the others
// waiting for a second only.
func atOnce(ctx context.Context, all []func()) {
	var under sync.WaitGroup
	for _, do := range all {
		under.Go(do)
	}
	ctx, done := context.WithTimeout(ctx, time.Second)
	go func() {
		under.Wait()
		done()
	}()
	<-ctx.Done()
}

// join connects to a socket.
func (g *Group) join(path string) {
	ctx := g.ctx
	conn, err := keepalive.Dial(ctx, path)
	if err != nil {
		g.forget(path)
		return
	}
	p := &peer{g: g, conn: conn, replies: make(chan Reply, 1)}
	go p.read(path)
	reply, err := p.ask(ctx, Order{Do: "hello"})
	fits := err == nil && reply.Hello != nil && reply.Hello.Protocol == Version
	if fits {
		p.hello = *reply.Hello
	}
	g.mu.Lock()
	if p.over || err != nil {
		g.mu.Unlock()
		conn.Close()
		g.forget(path)
		return
	}
	if !fits || g.ctx.Err() != nil {
		conn.Close()
		p = &peer{}
	}
	g.peers[path] = p
	on := g.on
	text := g.wanted
	g.mu.Unlock()
	if p.conn != nil {
		_, _ = p.ask(ctx, Order{Do: "watch"})
	}
	if p.conn != nil && on {
		_, _ = p.ask(ctx, Order{Do: "intercept", On: on, Filter: text})
	}
	g.change()
}

// forget has a socket looked at again.
func (g *Group) forget(path string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p := g.peers[path]; p != nil && p.conn == nil {
		delete(g.peers, path)
	}
}

// ask gives an order and waits for the reply.
func (p *peer) ask(ctx context.Context, order Order) (Reply, error) {
	p.turn.Lock()
	defer p.turn.Unlock()
	_ = p.conn.SetWriteDeadline(p.g.o.Now().Add(readTime))
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
	case <-ctx.Done(): // a reply that comes later would be taken for that of another order
		p.conn.Close()
		return Reply{}, ctx.Err()
	}
}

// read takes what the command says until the connection ends.
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
		p.note(line.Event)
	}
	close(p.replies)
	p.conn.Close()
	p.g.mu.Lock()
	p.over = true
	if p.g.peers[path] == p {
		delete(p.g.peers, path)
	}
	p.g.mu.Unlock()
	p.g.change()
}

func (p *peer) note(e Event) {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	switch {
	case e.Event == "held" && e.Held != nil:
		p.held = append(p.held, *e.Held)
	case e.Event == "gone":
		p.held = slices.DeleteFunc(p.held, func(h proxy.Held) bool { return h.N == e.Number })
	case e.Event == "passed":
		p.passed = e.Number
	}
	p.g.change()
}

// readLine reads a line of JSON that is not too long.
func readLine(from *bufio.Reader, to any) error {
	var line []byte
	for {
		part, err := from.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > longestLine:
			return io.ErrShortBuffer
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil:
			return err
		default:
			return json.Unmarshal(line, to)
		}
	}
}
