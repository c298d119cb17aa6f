package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"mcpc/internal/client"
	"mcpc/internal/render"
	"mcpc/internal/shellwords"
	"mcpc/internal/state"
	"mcpc/internal/target"
	"mcpc/internal/wire"
)

// A survey asks all servers that mcpc knows by name for their lists, several at once.
// Whatever one of them does, the others are shown.

// surveyOptions are what the commands that make one have in common.
type surveyOptions struct {
	kinds    []kind
	words    []string // all of which an entry has to hold
	long     bool
	bill     bool // in place of the lists
	parallel int
}

func (o *surveyOptions) flags(f *pflag.FlagSet) {
	f.IntVar(&o.parallel, "parallel", 8, "number of concurrent requests (default 8)")
}

// check refuses what makes no sense for several servers.
func (o *surveyOptions) check(a *app, command string, argv []string) error {
	switch {
	case a.shell != nil:
		return hinted("the shell uses one server, and "+command+" all known servers", wire.Run(command)+", in another terminal")
	case o.parallel < 1:
		return hinted("--parallel must be 1 or more", "--parallel 1 queries one after the other")
	case a.serverGiven || argv != nil:
		return hinted(command+" queries all known servers, and one is named", "remove -s and --, or query that one: "+wire.There("list"))
	case len(a.headers) > 0 || len(a.headerFiles) > 0 || a.auth.tokenFile != "":
		return hinted("header fields and tokens would be sent to every server", "use -s NAME")
	case a.recordTo != "" && a.recordTo != offWord:
		return hinted("--record FILE holds one connection, and this opens one per server", wire.Run("log")+" lists the recordings")
	}
	return nil
}

// A surveyed server and what came of it.
type surveyed struct {
	id, title, file string
	// also are servers that are the same, and were not asked again.
	also  []string
	lists []sorted
	out   wire.Outcome
	said  string // on standard error
}

// survey is the whole walk: who is asked, what they have, what went wrong.
func (a *app) survey(ctx context.Context, o surveyOptions) {
	asked, unasked := a.whomToAsk()
	a.spareCollections(false)
	a.talking.Store(true) // a Ctrl-C ends the conversations in order
	defer a.talking.Store(false)
	stop := a.ticking()
	a.askAll(ctx, o, asked)
	stop()
	a.progress.Done()
	for _, s := range asked {
		for line := range strings.Lines(s.said) {
			fmt.Fprint(a.stderr(), strings.Replace(line, "mcpc: ", "mcpc: "+a.errStyle.Line(s.id)+": ", 1))
		}
	}
	a.tellUnasked(unasked)
	ans := answer{result: surveyJSON(asked, unasked, o.bill), human: func(w io.Writer, st render.Style) error {
		if o.bill {
			return billOfServers(asked).write(w, st)
		}
		return render.Sections(w, st, sectionsOf(asked, st, o))
	}}
	found, answered := 0, 0
	for _, s := range asked {
		if s.out.Good() {
			answered++
		}
		for _, l := range s.lists {
			ans.messages = append(ans.messages, l.Pages...)
			found += len(l.Items)
		}
	}
	switch {
	case len(asked)+len(unasked) == 0:
		a.note("no known servers: mcpc init TARGET opens a session, mcpc servers lists other programs' servers")
	case found == 0 && answered > 0:
		a.note("no match" + inVain(o.words, answered))
	}
	out, told := a.endingOfAll(ctx, asked, unasked)
	if out.Kind != wire.Signal {
		a.print(ctx, ans)
		if o.bill && found > 0 {
			a.explainBill()
		}
	}
	if told && a.ending.Good() {
		a.warn(out.Text)
		a.ending = out
		return
	}
	a.endAlso(out)
}

// inVain says what was looked for, and where, without success.
func inVain(words []string, answered int) string {
	if len(words) == 0 {
		return ""
	}
	return ": no entry of " + plural(answered, "server") + " holds " + strings.Join(mapped(words, strconv.Quote), " and ")
}

// An unasked server, and why it is.
type unasked struct{ id, why string }

// The reasons, in the order in which they are told.
const (
	neverConfirmed = "not trusted"
	isDisabled     = "disabled"
	isUnusable     = "unusable"
)

// whomToAsk are the sessions, and the servers of other programs that may be asked
// without a question. Of several that are the same one is asked.
func (a *app) whomToAsk() (asked []*surveyed, left []unasked) {
	var trusts []state.Trust
	origins := map[string]string{}
	if store, st, err := a.loadState(); err != nil {
		a.warn("sessions are omitted: " + err.Error())
	} else {
		trusts = a.trusts(store)
		for _, name := range st.Names() {
			s, _ := st.Session(name)
			asked = append(asked, &surveyed{id: name, title: "session"})
			if s.From != nil {
				origins[s.From.Client+":"+s.From.Name+"\n"+s.From.File] = name
			}
		}
	}
	firsts := map[string]*surveyed{}
	var same []target.Server
	for _, s := range a.knownServers() {
		i := slices.IndexFunc(same, func(other target.Server) bool { return other.Same(s) })
		switch {
		case s.Problem != "":
			left = append(left, unasked{s.ID(), isUnusable})
		case s.Disabled:
			left = append(left, unasked{s.ID(), isDisabled})
		case asksFirst(s, standingOf(trusts, s)):
			left = append(left, unasked{s.ID(), neverConfirmed})
		case origins[s.ID()+"\n"+s.File] != "": // its session is asked
		case i >= 0:
			first := firsts[same[i].ID()]
			first.also = append(first.also, s.ID())
		default:
			same = append(same, s)
			firsts[s.ID()] = &surveyed{id: s.ID(), title: s.Client.Title, file: s.File}
			asked = append(asked, firsts[s.ID()])
		}
	}
	return asked, left
}

// askAll asks them, so many at once, and shows how many answered.
func (a *app) askAll(ctx context.Context, o surveyOptions, all []*surveyed) {
	var mu sync.Mutex
	waiting, done := []string{}, 0
	tell := func(change func()) {
		mu.Lock()
		defer mu.Unlock()
		change()
		a.progress.Update(wire.Members{
			{Name: "progress", Value: json.RawMessage(fmt.Sprint(done))}, {Name: "total", Value: json.RawMessage(fmt.Sprint(len(all)))},
			{Name: "message", Value: wire.Quote(strings.Join(waiting, ", "))}})
	}
	room := make(chan struct{}, o.parallel)
	var group sync.WaitGroup
	for _, s := range all {
		room <- struct{}{}
		group.Go(func() {
			tell(func() { waiting = append(waiting, s.id) })
			a.askOne(ctx, o, s)
			tell(func() {
				waiting = slices.DeleteFunc(waiting, func(id string) bool { return id == s.id })
				done++
			})
			<-room
		})
	}
	group.Wait()
}

// askOne is a conversation beside the others: with an app of its own, which has nobody
// to ask and no token that was meant for one server.
func (a *app) askOne(ctx context.Context, o surveyOptions, s *surveyed) {
	var said bytes.Buffer
	b := a.beside(&said, s.id)
	defer func() {
		if crash := recover(); crash != nil {
			s.out = wire.Outcome{Kind: wire.Internal, Where: s.id, Text: fmt.Sprint(crash), Hint: "please report it with " + wire.Run("-s "+shellwords.Quote(s.id)+" list")}
		}
		b.ending = b.withoutSecrets(s.out)
		s.out = b.ending
		b.record.many = s.out.Good() // else it names the list that failed
		b.endRecording(b.ending, b.exitCode())
		s.said = said.String()
	}()
	if ctx.Err() != nil {
		s.out = wire.Outcome{Kind: wire.Signal, Text: "interrupted"}
		return
	}
	c, out := b.open(ctx, opening{greet: true})
	defer b.close(ctx, c)
	if s.out = out; !out.Good() {
		return
	}
	for _, k := range c.offered(o.kinds) {
		list, out := c.listed(ctx, k, nil)
		if client.UnknownMethod(out) {
			continue
		}
		if list.Items = holding(list.Items, o.words); len(list.Items) > 0 {
			s.lists = append(s.lists, sorted{kind: k, List: list, entries: c.sortEntries(k, list)})
		}
		if s.out = out; !out.Good() {
			return
		}
	}
}

// beside is an app that shares with this one what the user wants, and nothing that
// goes on.
func (a *app) beside(said io.Writer, id string) *app {
	b := &app{leave: a.leave}
	b.asker, b.ui, b.environ, b.now, b.version, b.args, b.known, b.ballast = a.asker, b, a.environ, a.now, a.version, a.args, a.known, []byte{}
	b.setGlobals(a.globals())
	b.getenv = func(name string) string {
		if name == "MCPC_TOKEN" || name == envName("server") {
			return ""
		}
		return a.getenv(name)
	}
	b.server, b.serverGiven, b.noInput = id, true, true
	b.json, b.wire, b.jq, b.output, b.explain, b.verbose = false, false, "", "", false, 0
	b.auth.noPrompt, b.auth.account = true, ""
	b.outStyle, b.errStyle = render.Style{Width: 80}, render.Style{Width: 80}
	b.typist = &typist{in: strings.NewReader("")}
	b.progress = render.NewProgress(said, b.errStyle, a.now)
	b.record.quiet.Store(true) // a folder that cannot be written to is told of by one command
	return b
}
