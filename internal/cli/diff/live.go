package diff

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/diff"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/render/failure"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// loadServer asks a server for all that it declares, in a separate invocation, so that two servers
// can be asked. The connection is new, because what a remembered session knows may be out of date;
// a kept server is asked as it runs. If only some lists fail, the error is nil, and listErr of the
// side is set.
func (l *loader) loadServer(ctx context.Context, src source) (side, error) {
	f := l.f.Invocation()
	if src.text != "" {
		f.Server = src.text
		f.ServerGiven = true
	}
	c, out := f.Open(ctx, connect.Options{Argv: src.argv, RequireServerInfo: true, NoResume: true, UseKept: true})
	s := side{name: cmp.Or(displayName(src.text), c.Where), isProbed: true, isLive: true}
	if out.OK() {
		readOpening(&s.Snapshot, out.Result)
		readConnection(&s.Snapshot, c) // a kept server's connection has no result of initialize
		var failed []wire.Outcome
		failed, out = fetchLists(ctx, c, &s.Snapshot)
		for i, o := range failed {
			if i == 0 { // the first failure decides the exit code, the others are warnings
				s.listErr = cmdutil.Exit(connect.Explain(&f.Env, o))
			} else {
				f.Warn(o.Method + " failed: " + failure.Headline(o))
			}
		}
	}
	if out.OK() {
		f.Record.Many = s.listErr == nil // otherwise the recording names the list that failed
	} else {
		out = connect.Explain(&f.Env, out)
	}
	return s, cmdutil.Join(cmdutil.Exit(out), f.Close(ctx, c))
}

// fetchLists fetches every list that a description has. A list that the server refused stays unknown,
// and its outcome is added to failed. out is not OK if a failure also concerns the other lists, or if
// the other lists are all empty: it is then the outcome of one list, which is not in failed.
func fetchLists(ctx context.Context, c *connect.Conn, s *diff.Snapshot) (failed []wire.Outcome, out wire.Outcome) {
	entries := 0
	for _, k := range lists {
		out := fetchList(ctx, c, s, k)
		switch {
		case out.OK():
			entries += len(*k.entries(s))
		case connect.FailsAlone(out):
			failed = append(failed, out)
			*k.entries(s) = nil
		default:
			return failed, out
		}
	}
	if entries == 0 && len(failed) > 0 {
		return failed[1:], failed[0]
	}
	return failed, wire.Outcome{}
}

// readConnection copies the server info, capabilities and instructions of a connection to s. A server
// without instructions gets null, because nil means that they are unknown. It sets the revisions only
// if they are unknown.
func readConnection(s *diff.Snapshot, c *connect.Conn) {
	info := c.Info()
	s.Implementation = info.ServerInfo
	s.Capabilities = info.Capabilities
	s.Instructions = json.RawMessage("null")
	if info.Instructions != "" {
		s.Instructions = jsonraw.Quote(info.Instructions)
	}
	if s.Revisions == nil {
		s.Revisions = []string{c.Revision()}
	}
}

// fetchList fetches one list into its field of s. The list is empty, not nil, if the server does not
// declare the capability or does not know the method. After a failure the field has the entries of
// the pages before.
func fetchList(ctx context.Context, c *connect.Conn, s *diff.Snapshot, k listKind) wire.Outcome {
	entries := k.entries(s)
	*entries = []json.RawMessage{}
	if declared, known := c.Declares(k.Capability); known && !declared {
		return wire.Outcome{}
	}
	list, out := c.Listed(ctx, k.Kind, nil) // nil: all pages
	if client.IsUnknownMethod(out) {
		return wire.Outcome{}
	}
	*entries = append(*entries, list.Items...)
	if list.TTL != nil {
		setTTL(s, k.member(), json.RawMessage(strconv.FormatInt(*list.TTL, 10)))
	}
	return out
}

// readOpening copies the result of initialize or of server/discover to s. A result without
// instructions sets null, because nil means that they are unknown. It changes nothing if the result
// is not an object.
func readOpening(s *diff.Snapshot, result json.RawMessage) {
	members, err := jsonraw.Object(result)
	if err != nil {
		return
	}
	s.Capabilities = members.Value("capabilities")
	s.Implementation = mcp.ServerInfo(members)
	s.Instructions = members.Value("instructions")
	if s.Instructions == nil {
		s.Instructions = json.RawMessage("null")
	}
	s.Revisions = nil
	versions, err := jsonraw.Array(members.Value("supportedVersions")) // only server/discover has them
	if err == nil {
		for _, raw := range versions {
			if text, ok := jsonraw.Text(raw); ok {
				s.Revisions = append(s.Revisions, text)
			}
		}
	} else if agreed := members.Text("protocolVersion"); agreed != "" {
		s.Revisions = []string{agreed}
	}
}

// agreeOnRevisions adds to each side the revisions of the other side that it possibly supports too,
// so that no change is reported for them.
func agreeOnRevisions(a, b *side) {
	moreA := a.possibleRevisions(b.Revisions)
	moreB := b.possibleRevisions(a.Revisions)
	if len(a.Revisions) > 0 && len(b.Revisions) > 0 {
		a.Revisions = slices.Concat(a.Revisions, moreA)
		b.Revisions = slices.Concat(b.Revisions, moreB)
	}
}

// possibleRevisions returns the revisions of a list that the server possibly supports, although
// the side does not have them. The revision that initialize negotiated is the newest stateful one:
// the server may support older revisions, and stateless revisions if no client asked for them. A
// side with stateless revisions only may also support one revision that initialize negotiates.
func (s *side) possibleRevisions(revisions []string) []string {
	isStateful := func(revision string) bool { return !client.Stateless(revision) }
	hasNegotiated := len(s.Revisions) == 1 && isStateful(s.Revisions[0])
	var possible []string
	for _, r := range revisions {
		if slices.Contains(s.Revisions, r) {
			continue
		}
		var isPossible bool
		switch {
		case client.Stateless(r):
			isPossible = hasNegotiated && !s.isProbed
		case hasNegotiated:
			isPossible = r < s.Revisions[0] // an older date
		default:
			isPossible = len(revisions) == 1 && !slices.ContainsFunc(s.Revisions, isStateful)
		}
		if isPossible {
			possible = append(possible, r)
		}
	}
	return possible
}

// refuseCredentials returns an error if there are credentials, which would be sent to both servers.
func (l *loader) refuseCredentials() error {
	f := l.f
	hasHeaders := len(f.Headers) > 0 || len(f.HeaderFiles) > 0
	hasToken := f.Auth.TokenFile != "" || f.Auth.Account != "" || f.Getenv("MCPC_TOKEN") != ""
	if hasHeaders || hasToken {
		return usage.New(
			"header fields and tokens would be sent to both servers",
			"compare with a lock file: "+wire.Run("diff --lock TARGET")+
				"; or use sessions ("+wire.Run("init")+"), which have their own",
		)
	}
	return nil
}
