package tui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"mcpc/internal/live/view"
)

// An actor is a view.Actor that writes down what it is asked to do.
type actor struct {
	changeCatalog func(*view.Catalog) // if not nil
	mu            sync.Mutex
	did           []string
	questions     []view.Question
	held          []view.Held
	faults        []view.ArmedFault
	confirm       string
	copied        string // a recorded request
	refusal       error  // of answers
	servers       []view.Server
	login         *view.Login
	output        []string // of the view's own server
}

func newActor() *actor {
	tools := 12
	seconds := 0.042
	list := func(name string) []view.ServerCommand {
		return []view.ServerCommand{{Key: "c", Name: "Copy", Line: "mcpc list -s " + name}}
	}
	return &actor{copied: `{"q":1}`, servers: []view.Server{
		{Name: "cursor:files", From: "Cursor", Health: view.Health{State: "ok", Revision: "2025-06-18", Tools: &tools, Seconds: &seconds}, Commands: append(list("cursor:files"), view.ServerCommand{Key: "p", Name: "Tap", Line: "mcpc tap install cursor files"})},
		{Name: "github", From: "session", Health: view.Health{State: "needs login", Failed: true, Text: "needs login: HTTP 401", Help: "mcpc login -s github"}, Commands: append(list("github"), view.ServerCommand{Key: "l", Name: "Log in", Line: "mcpc login -s github"})},
		{Name: "ev\x1b[31mil\u202e", From: "Codex", Health: view.Health{Asking: true}, Commands: list("evil")},
		{Name: "demo", From: "part of mcpc", Commands: list("demo")},
		{Name: "claude-code:box", From: "Claude Code (project)", Health: view.Health{State: "not trusted", Failed: true, Text: "not trusted", Help: "mcpc servers trust claude-code:box"}, Commands: list("claude-code:box")},
	}}
}

func (a *actor) note(words ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.did = append(a.did, strings.Join(words, " "))
}

func (a *actor) done() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return strings.Join(a.did, "\n")
}

func (a *actor) Powers() view.Powers {
	return view.Powers{Resend: true, Call: true, Intercept: true, Mark: true, Export: true, Files: true}
}

func (a *actor) Questions() []view.Question {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.questions
}

func (a *actor) Answer(_ context.Context, id string, an view.Answer) error {
	a.note("answer", id, an.Action, string(an.Content))
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refusal != nil {
		return a.refusal
	}
	a.questions = nil
	return nil
}

func (a *actor) Held() []view.Held {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.held
}

func (a *actor) Intercept(_ context.Context, on bool, filter string) error {
	if on {
		a.note("intercept", filter)
	} else {
		a.note("intercept off")
	}
	return nil
}

func (a *actor) Release(_ context.Context, id, text string) error {
	a.note("release", id, text)
	return nil
}

func (a *actor) Drop(_ context.Context, id string) error { a.note("drop", id); return nil }

func (a *actor) Reveal(context.Context, string) (string, error) {
	return `{"method":"tools/call","token":"s3cret"}`, nil
}

func (a *actor) SetFault(_ context.Context, f view.Fault) (string, error) {
	a.note("fault", f.Kind, f.Method, f.Name, f.Target, f.Key+f.ID)
	return "the next " + f.Name + " fails", nil
}

func (a *actor) Faults() []view.ArmedFault {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.faults
}

func (a *actor) ServerOutput() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.output
}

func (a *actor) Resend(_ context.Context, key string, message json.RawMessage, confirmed bool) (view.Sent, error) {
	if a.confirm != "" && !confirmed {
		return view.Sent{Confirm: a.confirm}, nil
	}
	a.note("resend", key, string(message))
	return view.Sent{Key: "42.4", Channel: "ok", Text: "done"}, nil
}

func (a *actor) Request(_ context.Context, r view.Request) (view.Sent, error) {
	if a.confirm != "" && !r.Confirmed {
		return view.Sent{Confirm: a.confirm}, nil
	}
	a.note("request", r.Target, r.Kind, r.Name, string(r.Arguments))
	return view.Sent{Key: "42.4", Channel: "ok"}, nil
}

func (a *actor) Servers() []view.Server {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.servers
}

func (a *actor) CheckServers() error { a.note("check"); return nil }

func (a *actor) Catalog(_ context.Context, target string) (view.Catalog, error) {
	a.note("catalog", target)
	if target == "github" {
		return view.Catalog{}, errors.New("connection refused")
	}
	if target == "secure" && a.loginDone() == "" {
		return view.Catalog{NeedsLogin: "HTTP 401"}, nil
	}
	catalog := catalogOf(target)
	if a.changeCatalog != nil {
		a.changeCatalog(&catalog)
	}
	return catalog, nil
}

func (a *actor) Complete(_ context.Context, c view.Completion) (view.Completed, error) {
	a.note("complete", c.Name, c.Argument, c.Value)
	return view.Completed{Values: []string{"Paris", "Parma"}}, nil
}

func (a *actor) Subscribe(_ context.Context, target, uri string, on bool) error {
	a.note("subscribe", target, uri, fmt.Sprint(on))
	return nil
}

func (a *actor) Cancel(_ context.Context, c view.Cancellation) error {
	a.note("cancel", c.Target, c.Kind, c.Name)
	return nil
}

func (a *actor) Step(_ context.Context, r view.Request, file string) (view.SavedStep, error) {
	a.note("step", r.Kind, r.Name, string(r.Arguments), file)
	return view.SavedStep{Text: "- call: " + r.Name + "\n", Run: "mcpc run " + file + " --allow-exec"}, nil
}

func (a *actor) Login(target string, confirmed bool) (view.Sent, error) {
	if a.confirm != "" && !confirmed {
		return view.Sent{Confirm: a.confirm}, nil
	}
	a.note("login", target)
	return view.Sent{}, nil
}

func (a *actor) LoginState() *view.Login {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.login
}

func (a *actor) CancelLogin(target string) error { a.note("cancel", target); return nil }

func (a *actor) App(context.Context, view.AppOpening) (view.App, error) { return view.App{}, nil }

func (a *actor) AppRequest(context.Context, view.AppRequest) (view.AppResponse, error) {
	return view.AppResponse{}, nil
}

func (a *actor) Mark(key string, mark bool, text string) error {
	if mark {
		a.note("mark", key, text)
	} else {
		a.note("unmark", key, text)
	}
	return nil
}

func (a *actor) Copy(_ context.Context, key, form string) (string, error) {
	if form == "request" {
		return a.copied, nil
	}
	return form + " of " + key, nil
}

func (a *actor) Preview(context.Context, view.Export) (view.Exported, error) {
	return view.Exported{Rows: 7, Hidden: 3, Doubts: []string{"hunter2 in 42.4"}}, nil
}

func (a *actor) Export(_ context.Context, e view.Export) (view.Exported, error) {
	a.note("export", e.Form, e.Filter+strings.Join(e.Only, ","))
	return view.Exported{Rows: 7, Hidden: 3, File: "github.mcpcz.html"}, nil
}

// asks is a question with a form.
func asks() view.Question {
	return view.Question{
		ID: "q1", Row: "42.3", Server: "github", Method: "elicitation/create", Message: "Which repository?", Since: clockStart, Until: clockStart.Add(5 * time.Minute),
		Schema: json.RawMessage(`{"type":"object","required":["repo"],"properties":{"repo":{"type":"string","title":"Repository","minLength":2},"private":{"type":"boolean","default":true},
			"kind":{"type":"string","enum":["bug","idea"],"default":"idea"},"labels":{"type":"array","items":{"type":"string","enum":["a","b"]}},"count":{"type":"integer","minimum":1}}}`),
	}
}

func heldMessage(id string) view.Held {
	return view.Held{ID: id, Row: "42.3", Client: "Claude Desktop", Server: "github", Dir: "sent", Method: "tools/call", Name: "delete_repo", Text: `{"repo":"mcpc"}`, Since: clockStart, Until: clockStart.Add(10 * time.Minute)}
}

// catalogOf returns what the server with a target offers.
func catalogOf(target string) view.Catalog {
	tool := json.RawMessage(`{"type":"object","required":["title"],"properties":{"title":{"type":"string"},"labels":{"type":"array","items":{"type":"string"}}}}`)
	text := json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)
	return view.Catalog{
		Target: target, Server: "github", Title: "Git Hub", Version: "2.1", Revision: "2026-07-28", Instructions: "Ask before you delete.",
		Lists: []view.OfferList{
			{Kind: view.KindTool, Offers: []view.Offer{
				{
					Kind: view.KindTool, Name: "create_issue", Title: "Create an issue", Description: "Creates an issue in a repository.", Schema: tool,
					Command: []string{"mcpc -s github call create_issue ", ""}, Last: &view.LastGood{Key: "42.2", Arguments: json.RawMessage(`{"title":"old"}`)},
				},
				{Kind: view.KindTool, Name: "delete_repo", Description: "Deletes it.", Destructive: true, Schema: json.RawMessage(`{"type":"object"}`)},
				{Kind: view.KindTool, Name: "ev\x1b[31mil\u202e", Description: "\x1b]0;x\x07", Refused: "entry 2 has no \x1b[2Jname"},
			}},
			{Kind: view.KindPrompt, Offers: []view.Offer{{Kind: view.KindPrompt, Name: "weather", Schema: text}}},
			{Kind: view.KindResource, Offers: []view.Offer{{Kind: view.KindResource, Name: "demo://readme", Title: "Readme", MIMEType: "text/markdown"}}},
			{Kind: view.KindTemplate, Offers: []view.Offer{{Kind: view.KindTemplate, Name: "demo://{city}", Schema: text}}},
			{Kind: view.KindTask, Offers: []view.Offer{{Kind: view.KindTask, Name: "task-1", Title: "create_issue", Status: "working"}}},
		},
	}
}

// loginDone returns the target of the login that has ended, or "".
func (a *actor) loginDone() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.login == nil || !a.login.Done {
		return ""
	}
	return a.login.Target
}
