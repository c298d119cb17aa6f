package capture

import (
	"encoding/json"
	"slices"

	"mcpc/internal/wire"
)

// contents are all that was learned of a capture, but not what is needed to learn more of
// its runs: they end there.
func (c *codec) contents(of *Capture) {
	num(c, &of.offset)
	num(c, &of.line)
	c.flags(&of.torn)
	c.findings(&of.findings)
	runs := c.runs(of)
	conns, numbers := c.conns(of.rows)
	n := c.count(len(of.rows), leastRow)
	all := of.rows
	if !c.writing {
		block := make([]Row, n)
		all = make([]*Row, n)
		for i := range all {
			all[i] = &block[i]
		}
	}
	places := map[*Row]int{}
	if c.writing && slices.ContainsFunc(all, (*Row).related) {
		for i, r := range all {
			places[r] = i
		}
	}
	for i, r := range all {
		if c.row(r, of); c.err != nil {
			return
		}
		c.conn(r, conns, numbers)
		c.relations(r, all, places)
		if !c.writing {
			x := runs[r.head]
			x.rows = append(x.rows, r)
			if r.Index = i + 1; r.Run > 0 {
				r.Index = len(x.rows)
			}
		}
	}
	of.rows = all
}

// leastRow is about how many bytes a row has at least.
const leastRow = 24

// runs are the runs without what they need to go on.
func (c *codec) runs(of *Capture) (runs []*index) {
	n := c.count(len(of.Heads), 8)
	for i := range n {
		var head []byte
		var x index
		var at, end span
		var over, marked, ended bool
		if c.writing {
			head, _ = json.Marshal(of.Heads[i])
			at, over = of.heads[i], of.over[i]
			end, ended = of.ends[i], of.RunEnded(i)
			marked = of.marked[of.Heads[i].In] != nil && of.marked[of.Heads[i].In].at == i
			x.repeating = of.index.at == i && of.index.repeating
		}
		c.bytes(&head)
		c.span(&at)
		c.span(&end)
		if c.flags(&over, &marked, &ended, &x.repeating); c.writing {
			continue
		}
		if json.Unmarshal(head, &x.head) != nil {
			c.fail()
			return nil
		}
		x.capture, x.at, x.finished = of, i, true
		of.Heads, of.heads, of.over = append(of.Heads, x.head), append(of.heads, at), append(of.over, over)
		if ended {
			of.ends[i] = end
		}
		if marked {
			of.marked[x.head.In] = &x
		}
		of.index, runs = &x, append(runs, &x)
	}
	return runs
}

// conns are the conversations of rows, and when they are written the number of each.
func (c *codec) conns(rows []*Row) (conns []*conn, numbers map[*conn]int) {
	numbers = map[*conn]int{}
	for _, r := range rows {
		if r.conn != nil && numbers[r.conn] == 0 {
			conns = append(conns, r.conn)
			numbers[r.conn] = len(conns)
		}
	}
	if n := c.count(len(conns), 5); !c.writing {
		conns = make([]*conn, n)
	}
	for i := range conns {
		if !c.writing {
			conns[i] = &conn{}
		}
		for _, s := range []*string{&conns[i].client.name, &conns[i].client.version, &conns[i].server.name, &conns[i].server.version, &conns[i].session} {
			c.text(s)
		}
	}
	return conns, numbers
}

func (c *codec) conn(r *Row, conns []*conn, numbers map[*conn]int) {
	n := 0
	if c.writing && r.conn != nil {
		n = numbers[r.conn]
	}
	if c.within(&n, len(conns)); !c.writing && n > 0 {
		r.conn = conns[n-1]
	}
}

// row is a row alone.
func (c *codec) row(r *Row, of *Capture) {
	c.within(&r.head, len(of.Heads)-1)
	if len(of.Heads) == 0 {
		c.fail()
	}
	if c.err != nil {
		return
	}
	if !c.writing {
		r.capture, r.Run = of, of.Heads[r.head].Run
	}
	received, noted, cancelled, found, held := r.Dir == wire.Received, r.Notes != Notes{}, r.Cancel != nil, len(r.Findings) > 0, r.Held > 0 || r.Waiting > 0
	c.flags(&received, &noted, &cancelled, &found, &r.Elsewhere, &r.Own, &r.Apart, &r.Guess, &r.Repeated, &r.Orphan,
		&r.httpOnly, &r.unanswered, &r.told, &r.strayed, &r.resumable, &held, &r.Edited, &r.streamed)
	if received {
		r.Dir = wire.Received
	}
	c.moment(&r.Time)
	for _, s := range []*string{&r.Target, &r.Method, &r.Name, &r.Channel, &r.Revision, &r.Era, &r.By, &r.Again, &r.Text, &r.Hint, &r.foreign} {
		c.text(s)
	}
	c.single(&r.ID)
	num(c, &r.Exit)
	num(c, &r.Code)
	num(c, &r.Duration)
	num(c, &r.First)
	num(c, &r.Conn)
	num(c, &r.Sent)
	num(c, &r.Received)
	num(c, &r.lastSent)
	num(c, &r.Status)
	num(c, &r.Kinds)
	if noted {
		n := &r.Notes
		for _, number := range []*int{&n.Notifications, &n.Questions, &n.Guessed, &n.Retries, &n.Resumed, &n.Rounds, &n.Cuts} {
			num(c, number)
		}
	}
	if cancelled {
		c.cancel(r)
	}
	if held {
		num(c, &r.Held)
		num(c, &r.Waiting)
	}
	if found {
		c.findings(&r.Findings)
	}
	c.bytes((*[]byte)(&r.lines))
}

func (c *codec) cancel(r *Row) {
	if r.Cancel == nil {
		r.Cancel = &Cancel{}
	}
	byServer := r.Cancel.By == wire.Received
	if c.flags(&byServer, &r.Cancel.Late, &r.Cancel.closed); byServer {
		r.Cancel.By = wire.Received
	}
	c.text(&r.Cancel.Why)
	num(c, &r.Cancel.After)
}

func (r *Row) related() bool { return r.Within != nil || r.Guesses != nil }

// relations are the other rows that a row names.
func (c *codec) relations(r *Row, all []*Row, places map[*Row]int) {
	related := r.related()
	if c.flags(&related); !related || c.err != nil {
		return
	}
	within := 0
	if r.Within != nil {
		within = places[r.Within] + 1
	}
	if c.within(&within, len(all)); within > 0 {
		r.Within = all[within-1]
	}
	if n := c.count(len(r.Guesses), 1); !c.writing && n > 0 {
		r.Guesses = make([]*Row, n)
	}
	for i, other := range r.Guesses {
		at := places[other]
		if c.within(&at, len(all)-1); c.err == nil {
			r.Guesses[i] = all[at]
		}
	}
}
