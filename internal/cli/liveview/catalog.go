package liveview

import (
	"context"
	"encoding/json"

	"mcpc/internal/capture/filter"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect"
	"mcpc/internal/connect/toolcall"
	"mcpc/internal/jsonraw"
	"mcpc/internal/live/view"
	"mcpc/internal/mcp"
	"mcpc/internal/shellwords"
	"mcpc/internal/wire"
)

// Catalog connects to a server and lists what it offers. The user named the server, so the view may send
// requests to it from now on. An untrusted server is not started.
func (a *Actor) Catalog(ctx context.Context, target string) (view.Catalog, error) {
	ctx, release := a.contextOfView(ctx)
	defer release()
	server, err := a.namedServer(target)
	if err != nil {
		return view.Catalog{}, err
	}
	isNew := a.addCard(server) // a failed connection may need a login, for which the card has a button
	g, c, out := a.connection(ctx, server)
	needsLogin := out.Kind == wire.Auth && server != connect.DemoEndpoint
	if isNew || needsLogin {
		a.recheckServer(server)
	}
	if needsLogin {
		out.Hint = "" // the view offers a login
		return view.Catalog{NeedsLogin: userError(g, out).Error(), Lists: []view.OfferList{}}, nil
	}
	if !out.OK() {
		return view.Catalog{}, userError(g, out)
	}
	a.agreeToServer(addressOf(c.Where))
	info := connect.SafeInfo(&g.Env, c.Info())
	implementation, _ := jsonraw.Object(info.ServerInfo)
	catalog := view.Catalog{
		Target:       c.Where,
		Server:       implementation.Text("name"),
		Title:        implementation.Text("title"),
		Version:      implementation.Text("version"),
		Revision:     c.Revision(),
		Instructions: info.Instructions,
		Lists:        []view.OfferList{},
	}
	form := a.callFormOf(g, c.Where)
	for _, kind := range c.Declared([]connect.Kind{
		connect.ToolKind, connect.PromptKind, connect.ResourceKind, connect.TemplateKind,
	}) {
		if list, isListed := listOffers(ctx, g, c, kind); isListed {
			catalog.Lists = append(catalog.Lists, list)
		}
	}
	if list, isListed := listTasks(ctx, g, c); isListed {
		catalog.Lists = append(catalog.Lists, list)
	}
	if err := ctx.Err(); err != nil {
		return view.Catalog{}, err
	}
	last := a.lastGood(ctx, c.Where)
	for _, list := range catalog.Lists {
		for i := range list.Offers {
			o := &list.Offers[i]
			o.Command = form.commandFor(o.Kind, o.Name)
			o.Last = last[o.Kind+"\n"+o.Name]
		}
	}
	return catalog, nil
}

// commandFor returns the shell command that requests an offer: the part before the arguments and the
// part after them.
func (c callForm) commandFor(kind, name string) []string {
	verb := map[string]string{
		view.KindTool: "call", view.KindPrompt: "prompt", view.KindResource: "read", view.KindTemplate: "read",
		view.KindTask: "tasks get",
	}[kind]
	before := c.mcpc + verb + " " + shellwords.Quote(name)
	if kind != view.KindResource && kind != view.KindTask { // they take no arguments
		before += " "
	}
	return []string{before, c.afterArguments}
}

// listOffers lists one kind of what a server offers. It reports false if the server does not have the
// kind.
func listOffers(
	ctx context.Context, g *cmdutil.Factory, c *connect.Conn, kind connect.Kind,
) (list view.OfferList, isListed bool) {
	list = view.OfferList{Kind: kind.One, Offers: []view.Offer{}}
	var l connect.Listing
	const several = true // a kind that the server does not know is left out
	const reports = true // entries that cannot be used are left out
	out, isOmitted := l.Add(ctx, c, kind, several, reports)
	if !out.OK() && !isOmitted {
		list.Error = userError(g, connect.Explain(&g.Env, out)).Error()
	}
	for _, s := range l.Lists {
		list.Offers = append(list.Offers, offersOf(kind, s.Entries)...)
	}
	return list, !isOmitted
}

// offersOf returns the entries of a list as offers.
func offersOf(kind connect.Kind, entries connect.Entries) []view.Offer {
	var offers []view.Offer
	for _, t := range entries.Tools {
		offers = append(offers, view.Offer{
			Kind: kind.One, Name: t.Name, Title: t.Title, Description: t.Description,
			Schema: t.InputSchema, SchemaError: view.SchemaError(t.InputSchema),
			ReadOnly: t.Hints.OnlyReads(), Destructive: t.Hints.IsDestructive(), App: t.UI,
		})
	}
	for _, p := range entries.Prompts {
		offers = append(offers, view.Offer{
			Kind: kind.One, Name: p.Name, Title: p.Title, Description: p.Description, Schema: promptSchema(p),
		})
	}
	for _, r := range entries.Resources {
		o := view.Offer{
			Kind: kind.One, Name: r.URI, Title: r.Title, Description: r.Description, MIMEType: r.MIMEType,
		}
		if o.Title == "" {
			o.Title = r.Name
		}
		if kind == connect.TemplateKind {
			template, err := mcp.ParseURITemplate(r.URI)
			if err != nil {
				o.Refused = "not a URI template: " + err.Error()
			} else {
				o.Schema = templateSchema(template)
			}
		}
		offers = append(offers, o)
	}
	for _, l := range entries.LeftOut() {
		offers = append(offers, view.Offer{Kind: kind.One, Name: l.Name, Refused: l.Why})
	}
	return offers
}

// promptSchema returns a JSON Schema of the arguments of a prompt, which are strings.
func promptSchema(p mcp.Prompt) json.RawMessage {
	properties := json.RawMessage("{}")
	var required []string
	for _, a := range p.Arguments {
		property := json.RawMessage(`{"type":"string"}`)
		if a.Title != "" {
			property = jsonraw.With(property, "title", jsonraw.Quote(a.Title))
		}
		if a.Description != "" {
			property = jsonraw.With(property, "description", jsonraw.Quote(a.Description))
		}
		properties = jsonraw.With(properties, a.Name, property)
		if a.Required {
			required = append(required, a.Name)
		}
	}
	return objectSchema(properties, required)
}

// templateSchema returns a JSON Schema of the variables of a URI template. Those of a query are optional.
func templateSchema(t mcp.URITemplate) json.RawMessage {
	properties := json.RawMessage("{}")
	for _, name := range t.Variables() {
		properties = jsonraw.With(properties, name, json.RawMessage(`{"type":"string"}`))
	}
	return objectSchema(properties, t.Required())
}

// objectSchema returns the JSON Schema of an object.
func objectSchema(properties json.RawMessage, required []string) json.RawMessage {
	schema := jsonraw.With(json.RawMessage(`{"type":"object"}`), "properties", properties)
	if len(required) == 0 {
		return schema
	}
	return jsonraw.With(schema, "required", jsonraw.ListOf(required, jsonraw.Quote))
}

// listTasks lists the tasks of a server. It reports false if the server has none and lists none.
func listTasks(ctx context.Context, g *cmdutil.Factory, c *connect.Conn) (list view.OfferList, isListed bool) {
	list = view.OfferList{Kind: view.KindTask, Offers: []view.Offer{}}
	tasks, out := toolcall.ListTasks(ctx, c)
	if !out.OK() {
		list.Error = userError(g, connect.Explain(&g.Env, out)).Error()
	}
	for _, t := range tasks.Rows {
		list.Offers = append(list.Offers, view.Offer{
			Kind: view.KindTask, Name: t.ID, Title: t.Remembered.Tool, Description: t.Message, Status: string(t.Status),
		})
	}
	return list, c.TaskOffer("").CanList || len(list.Offers) > 0
}

const (
	// maxLastGood limits the exchanges that are searched for the last good requests.
	maxLastGood = 200
	// maxLongArguments limits the requests that are read whole for that, because their arguments are long.
	maxLongArguments = 20
)

// lastGood returns the last good requests to a recorded target by kind and name, "tool\necho", of the
// newest exchanges.
func (a *Actor) lastGood(ctx context.Context, recordedTarget string) map[string]*view.LastGood {
	kinds := map[string]string{
		"tools/call": view.KindTool, "prompts/get": view.KindPrompt, "resources/read": view.KindResource,
	}
	last := map[string]*view.LastGood{}
	if a.Reader == nil {
		return last
	}
	page, err := a.Reader.Rows(ctx, view.Query{
		Filter: "dir:sent channel:ok method:tools/call,prompts/get,resources/read target:" + filter.Quote(recordedTarget),
		From:   -maxLastGood, Count: maxLastGood, WithArguments: true,
	})
	if err != nil {
		return last // the view works without it
	}
	long := 0
	for i := len(page.Rows) - 1; i >= 0; i-- { // the newest first
		row := page.Rows[i]
		id := kinds[row.Method] + "\n" + row.Name
		if last[id] != nil {
			continue
		}
		last[id] = &view.LastGood{Key: row.Key}
		arguments := json.RawMessage(row.Arguments)
		isCut := row.Arguments != "" && jsonraw.Valid(arguments) != nil
		if isCut && long < maxLongArguments {
			long++
			arguments = a.argumentsOf(ctx, row.Key)
		} else if isCut {
			arguments = nil
		}
		if len(arguments) > 0 {
			last[id].Arguments = arguments
		}
	}
	return last
}

// argumentsOf returns the arguments of a recorded request, or nil if they cannot be read.
func (a *Actor) argumentsOf(ctx context.Context, key string) json.RawMessage {
	detail, err := a.Reader.Detail(ctx, key)
	if err != nil || detail.Request == nil || detail.Request.Cut {
		return nil
	}
	m := wire.ParseMessage([]byte(detail.Request.Text))
	return jsonraw.First(m.Params, "arguments")
}
