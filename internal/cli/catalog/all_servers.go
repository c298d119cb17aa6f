package catalog

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
	"time"

	"github.com/spf13/pflag"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/connect/host"
	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/render"
	"mcpc/internal/render/term"
	"mcpc/internal/shellwords"
	"mcpc/internal/sliceutil"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// A survey lists the entries of all known servers, several servers at once. The failure of one
// server does not affect the others.

// surveyOptions are the options that list --all and grep share.
type surveyOptions struct {
	kinds    []connect.Kind
	words    []string // an entry has to contain all of them
	long     bool
	bill     bool // the cost of the tools in place of the lists
	parallel int
	// limit is the time for one server; 0 is no limit but the ones of its requests.
	limit time.Duration
}

func (o *surveyOptions) flags(f *pflag.FlagSet) {
	f.IntVar(&o.parallel, "parallel", 8, "number of concurrent requests (default 8)")
}

// check returns a usage error for options that make no sense for several servers. command is the
// command line of mcpc, for the text.
func (o *surveyOptions) check(f *cmdutil.Factory, command string, argv []string) error {
	switch {
	case f.Shell != nil:
		return usage.New(
			"the shell uses one server, and "+command+" all known servers",
			wire.Run(command)+", in another terminal",
		)
	case o.parallel < 1:
		return usage.New("--parallel must be 1 or more", "with --parallel 1 the servers are queried one after another")
	case f.ServerGiven || argv != nil:
		return usage.New(
			command+" queries all known servers, and one is named",
			"remove -s and --, or query that one: "+wire.RunOnServer("list"),
		)
	case len(f.Headers) > 0 || len(f.HeaderFiles) > 0 || f.Auth.TokenFile != "":
		return usage.New("header fields and tokens would be sent to every server", "use -s NAME")
	case f.RecordTo != "" && f.RecordTo != host.OffWord:
		return usage.New(
			"--record FILE holds one connection, and this opens one per server",
			wire.Run("log")+" lists the recordings",
		)
	}
	return nil
}

// Surveyed is one server and the result of its survey.
type Surveyed struct {
	*cmdutil.KnownServer
	lists []connect.Sorted
	// revision is the negotiated revision; "" if no connection was opened.
	revision string
	// took is the time for opening the connection and the lists, without closing it.
	took     time.Duration
	Out      wire.Outcome
	messages string // the text for standard error
}

// runSurvey selects the servers, asks them all, and prints what they have and what failed.
func runSurvey(ctx context.Context, f *cmdutil.Factory, o surveyOptions) error {
	all, skipped := f.KnownServers()
	asked := sliceutil.Map(all, func(s *cmdutil.KnownServer) *Surveyed { return &Surveyed{KnownServer: s} })
	host.TuneGC(&f.Env, false) // false: each connection has few requests
	f.IsConnected.Store(true)  // Ctrl-C closes the connections in order
	defer f.IsConnected.Store(false)
	stop := f.StartSpinner()
	surveyAll(ctx, f, o, asked)
	stop()
	f.Progress.Done()
	for _, s := range asked { // after all have ended, in the order of the servers
		fmt.Fprint(f.Stderr(), s.messages)
	}
	f.NoteSkipped(skipped)
	ans := cmdutil.Answer{Result: surveyJSON(asked, skipped, o.bill), Human: func(w io.Writer, st term.Style) error {
		if o.bill {
			return billOfServers(asked).write(w, st)
		}
		return render.Sections(w, st, sectionsOf(asked, st, o))
	}}
	found := 0
	answered := 0
	for _, s := range asked {
		if s.Out.OK() {
			answered++
		}
		for _, l := range s.lists {
			ans.Messages = append(ans.Messages, l.Pages...)
			found += len(l.Items)
		}
	}
	switch {
	case len(o.words) > 0: // a search without a match fails, see below
	case len(asked)+len(skipped) == 0:
		f.Note("no known servers: mcpc init TARGET opens a session, mcpc servers lists other programs' servers")
	case found == 0 && answered > 0:
		f.Note("no match")
	}
	out, isReported := ReportFailures(ctx, f, asked, skipped)
	// If servers failed, their failure decides the exit code, and that nothing was found is a note.
	if len(o.words) > 0 && found == 0 {
		if nothing := nothingFound(o.words, answered); out.OK() {
			return cmdutil.Exit(nothing)
		} else if answered > 0 {
			f.Note("no match: " + nothing.Text)
		}
	}
	var err error
	if out.Kind != wire.Signal { // after Ctrl-C nothing is printed; else what the other servers have is
		err = cmdutil.Print(ctx, f, ans)
		if len(o.words) == 0 && !o.bill && len(asked) > 1 && !f.JSON && f.Jq == "" {
			for _, s := range asked {
				f.Note(f.ErrStyle.Line(s.ID + ": " + s.summary()))
			}
		}
		if o.bill && found > 0 {
			explainBill(f)
		}
	}
	if isReported && err == nil {
		f.Warn(out.Text)
		return &cmdutil.ExitError{Outcome: out, Reported: true}
	}
	return cmdutil.Join(err, cmdutil.Exit(out))
}

// nothingFound returns the outcome of a search for words that found nothing. answered is the number
// of servers that were searched.
func nothingFound(words []string, answered int) wire.Outcome {
	if answered == 0 {
		return wire.Outcome{
			Kind: wire.NoMatch, Text: "there is no server to search",
			Hint: wire.Run("init TARGET") + " opens a session, " + wire.Run("servers") + " lists other programs' servers",
		}
	}
	return wire.Outcome{
		Kind: wire.NoMatch, Reached: wire.Answered, Hint: wire.Run("list --all") + " shows all tools",
		Text: "no entry of " + english.Plural(answered, "server") + " holds " +
			strings.Join(sliceutil.Map(words, strconv.Quote), " and "),
	}
}

// surveyAll asks all servers, o.parallel at once, and shows how many have been asked and the names of
// those that have not responded yet. It returns when all have been asked.
func surveyAll(ctx context.Context, f *cmdutil.Factory, o surveyOptions, all []*Surveyed) {
	var mu sync.Mutex
	pending := []string{}
	done := 0
	showProgress := func(change func()) {
		mu.Lock()
		defer mu.Unlock()
		change()
		f.Progress.Update(jsonraw.Members{
			{
				Name:  "progress",
				Value: json.RawMessage(fmt.Sprint(done)),
			},
			{Name: "total", Value: json.RawMessage(fmt.Sprint(len(all)))},
			{Name: "message", Value: jsonraw.Quote(strings.Join(pending, ", "))},
		})
	}
	slots := make(chan struct{}, o.parallel)
	var group sync.WaitGroup
	for _, s := range all {
		slots <- struct{}{}
		group.Go(func() {
			showProgress(func() { pending = append(pending, s.ID) })
			surveyOne(ctx, f, o, s)
			showProgress(func() {
				pending = slices.DeleteFunc(pending, func(id string) bool { return id == s.ID })
				done++
			})
			<-slots
		})
	}
	group.Wait()
}

// surveyOne surveys one server concurrently with the others. It uses a Factory of its own, which
// cannot prompt the user and has no token that was meant for one server.
func surveyOne(ctx context.Context, f *cmdutil.Factory, o surveyOptions, s *Surveyed) {
	var messages bytes.Buffer
	began := f.Now()
	b := f.WithoutPrompts(&messages, s.ID)
	defer func() {
		if panicValue := recover(); panicValue != nil {
			s.Out = wire.Outcome{
				Kind: wire.Internal, ServerName: s.ID, Text: fmt.Sprint(panicValue),
				Hint: "please report it with " + wire.Run("-s "+shellwords.Quote(s.ID)+" list"),
			}
		}
		s.Out = b.WithoutSecrets(s.Out)
		b.Record.Many = s.Out.OK() // after a failure the recording names the list that failed
		b.Env.EndRecording(s.Out, s.Out.ExitCode())
		s.messages = messages.String()
	}()
	if ctx.Err() != nil {
		s.Out = wire.Outcome{Kind: wire.Signal, Text: "interrupted"}
		return
	}
	closing := ctx // a connection is closed in order after the limit, too
	if o.limit > 0 {
		limited, cancel := context.WithTimeout(ctx, o.limit)
		defer cancel()
		ctx = limited
	}
	c, out := b.Open(ctx, connect.Options{RequireServerInfo: true})
	defer func() { // also after a failed Open, which may have started a process
		s.took = f.Now().Sub(began)
		isExpired := ctx.Err() != nil // before closing, which may take longer than the rest of the limit
		if closed := c.Close(closing); s.Out.OK() {
			s.Out = closed
		}
		if closing.Err() == nil && isExpired {
			s.Out = wire.Outcome{Kind: wire.Timeout, Text: fmt.Sprintf("no response within %s", o.limit)}
		}
	}()
	s.Out = out
	if !out.OK() {
		return
	}
	s.revision = c.Revision()
	for _, k := range c.Declared(o.kinds) {
		list, out := c.Listed(ctx, k, nil) // nil: all pages
		if client.IsUnknownMethod(out) {   // the server declares the capability, but only some of its methods
			continue
		}
		// A list that failed has the pages that were received before.
		list.Items = matchingEntries(list.Items, o.words)
		if len(list.Items) > 0 {
			s.lists = append(s.lists, connect.Sorted{Kind: k, List: list, Entries: c.SortEntries(k, list)})
		}
		if s.Out.OK() {
			s.Out = out
		}
		if !out.OK() && !connect.FailsAlone(out) {
			return
		}
	}
}
