package card

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/loopback"
	"mcpc/internal/wire"
)

// A Plan is how a server is reached or started, with the values of its inputs. Secrets are
// references to inputs.
type Plan struct {
	// Kind is stdio, streamable-http or sse.
	Kind string
	// Command and Env are for stdio, URL and Headers for the others.
	Command []string
	Env     []Setting
	URL     string
	Headers []Setting
	// Inputs are those that the plan refers to, and Unset optional ones that were left out.
	Inputs []Input
	Unset  []string
	// Warnings are what the user should know before an approval.
	Warnings []string
	// Instructions are what the author wants done after the installation. Nothing runs them.
	Instructions []string
}

// Resolve makes the plan of a choice. Nothing of it is run or contacted.
func Resolve(c Choice, v Values) (Plan, error) {
	f := &filler{Values: v, used: map[string]bool{}}
	f.Given = maps.Clone(v.Given)
	if f.Given == nil {
		f.Given = map[string][]string{}
	}
	var p Plan
	if c.Remote {
		p = f.remote(c)
	} else {
		p = f.pkg(c)
	}
	p.Inputs = f.refs
	p.Unset = f.unset
	if f.err == nil {
		f.err = f.unknown()
	}
	return p, f.err
}

// remote makes the plan of an endpoint.
func (f *filler) remote(c Choice) Plan {
	m := c.members
	p := Plan{Kind: m.Text("type")}
	if p.Kind == "" {
		p.Kind = text(m, "transportType")
	}
	if p.Kind != "streamable-http" && p.Kind != "sse" {
		f.fail(malformed("the type of a remote is %q, not streamable-http or sse", p.Kind))
	}
	var whole bool
	p.URL, whole = f.expanded(m.Text("url"), m.Value("variables"))
	if !whole {
		f.fail(malformed("the URL needs a value for %s: give it with --input NAME=VALUE", strings.Join(f.unset, ", ")))
	}
	f.checkText("the URL", p.URL)
	f.checkURL(p.URL)
	p.Headers = f.settings(m.Value("headers"), "header field", unfitHeader)
	return p
}

// checkURL takes https, and http on this machine. The host is known before the approval, so that
// no secret may be a part of it.
func (f *filler) checkURL(raw string) {
	origin := raw
	if at := strings.Index(raw, "://"); at >= 0 {
		if end := strings.IndexAny(raw[at+3:], `/?#\`); end >= 0 {
			origin = raw[:at+3+end]
		}
	}
	for _, in := range f.refs {
		if strings.Contains(origin, reference(in.ID)) {
			if in.Secret {
				f.fail(refused("the secret input %q is a part of the URL's host", in.ID))
			}
			return // its value is not known yet
		}
	}
	for _, in := range f.refs {
		raw = strings.ReplaceAll(raw, reference(in.ID), "x")
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		f.fail(malformed("the URL of a remote cannot be read"))
	case u.Scheme != "https" && u.Scheme != "http":
		f.fail(refused("the URL of a remote has the scheme %q, not https", u.Scheme))
	case u.Hostname() == "":
		f.fail(malformed("the URL of a remote has no host"))
	case u.Scheme == "https", u.Scheme == "http" && loopback.IsHere(u.Hostname()):
	default:
		f.fail(refused("the URL of a remote is http, which is for this machine only: %s", u.Host))
	}
	if err == nil && u.User != nil {
		f.fail(refused("the URL of a remote has a user in it"))
	}
}

// transportFields are header fields that the transport sets itself.
var transportFields = []string{
	"host", "content-length", "content-type", "transfer-encoding", "connection", "upgrade", "accept", "te", "trailer",
}

// unfitHeader reports a header field that is the transport's.
func unfitHeader(name string) bool {
	lower := strings.ToLower(name)
	return !wire.IsToken(name) || strings.HasPrefix(lower, "mcp-") || strings.HasPrefix(lower, "proxy-") ||
		slices.Contains(transportFields, lower)
}

// Refers reports that a value has a part that an input gives when the server is used.
func (p Plan) Refers(value string) bool {
	return slices.ContainsFunc(p.Inputs, func(in Input) bool { return strings.Contains(value, reference(in.ID)) })
}

// Entry is the plan as an entry of a configuration of servers, under the server's name.
func (p Plan) Entry(name string) json.RawMessage {
	type input struct {
		ID          string   `json:"id"`
		Description string   `json:"description,omitempty"`
		Password    bool     `json:"password,omitempty"`
		Options     []string `json:"options,omitempty"`
	}
	type entry struct {
		Type    string            `json:"type"`
		Command string            `json:"command,omitempty"`
		Args    []string          `json:"args,omitempty"`
		Env     map[string]string `json:"env,omitempty"`
		URL     string            `json:"url,omitempty"`
		Headers map[string]string `json:"headers,omitempty"`
	}
	inputs := []input{}
	for _, in := range p.Inputs {
		inputs = append(inputs, input{in.ID, in.Description, in.Secret, in.Choices})
	}
	e := entry{Type: p.Kind, URL: p.URL, Env: byName(p.Env), Headers: byName(p.Headers)}
	if len(p.Command) > 0 {
		e.Command, e.Args = p.Command[0], p.Command[1:]
	}
	raw, _ := jsonraw.Marshal(
		map[string]any{"inputs": inputs, "servers": map[string]entry{name: e}},
	) // strings always marshal
	return raw
}

func byName(all []Setting) map[string]string {
	values := map[string]string{}
	for _, s := range all {
		values[s.Name] = s.Value
	}
	return values
}

// Drift says in what a server is another than its card says: by the name, the title and the
// version that it gives, and by the revision that was negotiated.
func (s Server) Drift(c Choice, name, version, revision string) (all []string) {
	_, short, _ := strings.Cut(s.Name, "/")
	if name != "" && !strings.EqualFold(name, s.Name) && !strings.EqualFold(name, short) &&
		!strings.EqualFold(name, s.Title) {
		all = append(all, "the card names it "+s.Name+", the server "+name)
	}
	if version != "" && version != s.Version && s.Version != "" {
		all = append(all, "the card has version "+s.Version+", the server "+version)
	}
	if len(c.Revisions) > 0 && !slices.Contains(c.Revisions, revision) {
		all = append(all, "the card lists the revisions "+strings.Join(c.Revisions, ", ")+", and "+revision+" was negotiated")
	}
	return all
}
