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

// A Plan is how a server is reached or started, with the values of its inputs. It refers to inputs
// instead of secrets.
type Plan struct {
	// Kind is stdio, streamable-http or sse.
	Kind string
	// Command and Env are for stdio, URL and Headers for the other kinds.
	Command []string
	Env     []Setting
	URL     string
	Headers []Setting
	// Inputs are the inputs that the plan refers to, Unset the optional inputs without a value.
	Inputs []Input
	Unset  []string
	// Warnings are what the user should know before approving the server.
	Warnings []string
	// Instructions are what the author wants done after the installation. mcpc only shows them.
	Instructions []string
}

// Resolve returns the plan of a choice. It runs and contacts nothing. v.Given is not changed.
func Resolve(c Choice, v Values) (Plan, error) {
	f := &filler{Values: v, used: map[string]bool{}}
	f.Given = maps.Clone(v.Given) // the user's answers are added
	if f.Given == nil {
		f.Given = map[string][]string{}
	}
	var p Plan
	if c.IsRemote {
		p = f.remotePlan(c)
	} else {
		p = f.packagePlan(c)
	}
	p.Inputs = f.references
	p.Unset = f.unset
	if f.err == nil {
		f.err = f.checkUnknownInputs()
	}
	return p, f.err
}

// remotePlan returns the plan of a remote endpoint.
func (f *filler) remotePlan(c Choice) Plan {
	m := c.members
	p := Plan{Kind: m.Text("type")}
	if p.Kind == "" {
		p.Kind = textMember(m, "transportType")
	}
	if p.Kind != "streamable-http" && p.Kind != "sse" {
		f.fail(malformed("the type of a remote is %q, not streamable-http or sse", p.Kind))
	}
	var isComplete bool
	p.URL, isComplete = f.expandVariables(m.Text("url"), m.Value("variables"))
	if !isComplete {
		f.fail(malformed("the URL needs a value for %s: give it with --input NAME=VALUE", strings.Join(f.unset, ", ")))
	}
	f.checkText("the URL", p.URL)
	f.checkURL(p.URL)
	p.Headers = f.settingsWithValues(m.Value("headers"), "header field", isForbiddenHeader)
	return p
}

// checkURL accepts https, and http on this machine. The user approves the host, so no secret may be
// part of it.
func (f *filler) checkURL(raw string) {
	origin := raw // scheme and host
	if scheme, rest, ok := strings.Cut(raw, "://"); ok {
		if end := strings.IndexAny(rest, `/?#\`); end >= 0 {
			origin = scheme + "://" + rest[:end]
		}
	}
	for _, in := range f.references {
		if strings.Contains(origin, reference(in.ID)) {
			if in.Secret {
				f.fail(refused("the secret input %q is a part of the URL's host", in.ID))
			}
			return // the host is not known yet
		}
	}
	for _, in := range f.references {
		raw = strings.ReplaceAll(raw, reference(in.ID), "x") // for any value
	}
	u, err := url.Parse(raw)
	if err != nil {
		f.fail(malformed("the URL of a remote cannot be read"))
		return
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		f.fail(refused("the URL of a remote has the scheme %q, not https", u.Scheme))
	case u.Hostname() == "":
		f.fail(malformed("the URL of a remote has no host"))
	case u.Scheme == "http" && !loopback.IsHere(u.Hostname()):
		f.fail(refused("the URL of a remote is http, which is for this machine only: %s", u.Host))
	}
	if u.User != nil {
		f.fail(refused("the URL of a remote has a user in it"))
	}
}

// transportFields are header fields that the transport sets.
var transportFields = []string{
	"host", "content-length", "content-type", "transfer-encoding", "connection", "upgrade", "accept", "te", "trailer",
}

// isForbiddenHeader reports whether only the transport may set a header field.
func isForbiddenHeader(name string) bool {
	lower := strings.ToLower(name)
	return !wire.IsToken(name) || strings.HasPrefix(lower, "mcp-") || strings.HasPrefix(lower, "proxy-") ||
		slices.Contains(transportFields, lower)
}

// RefersToInput reports whether a value refers to an input.
func (p Plan) RefersToInput(value string) bool {
	return slices.ContainsFunc(p.Inputs, func(in Input) bool { return strings.Contains(value, reference(in.ID)) })
}

// Entry returns the plan as an entry of a configuration file, under the server's name.
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
	e := entry{Type: p.Kind, URL: p.URL, Env: settingsMap(p.Env), Headers: settingsMap(p.Headers)}
	if len(p.Command) > 0 {
		e.Command = p.Command[0]
		e.Args = p.Command[1:]
	}
	raw, _ := jsonraw.Marshal(map[string]any{"inputs": inputs, "servers": map[string]entry{name: e}}) // never fails
	return raw
}

// settingsMap returns settings as a map.
func settingsMap(all []Setting) map[string]string {
	values := map[string]string{}
	for _, s := range all {
		values[s.Name] = s.Value
	}
	return values
}

// Drift returns the differences between a card and its server: the server's name and version, and
// the negotiated revision. It ignores a name or a version that is "".
func (s Server) Drift(c Choice, name, version, revision string) []string {
	_, short, _ := strings.Cut(s.Name, "/")
	isSameName := strings.EqualFold(name, s.Name) || strings.EqualFold(name, short) || strings.EqualFold(name, s.Title)
	var all []string
	if name != "" && !isSameName {
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
