package target

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"

	"mcpc/internal/jsonraw"
)

// The functions of this file read configurations of other programs, which have different names for
// the same things. An invalid entry is still shown, with its problem.

// Decode returns a client's file as JSON. The file is TOML if its name has that extension, else
// JSON with comments and trailing commas. The error has the position of a syntax error and quotes
// nothing of the file.
func Decode(file string, text []byte) (json.RawMessage, error) {
	if !isTOML(file) {
		return standardJSON(text)
	}
	var doc map[string]any
	if err := toml.Unmarshal(text, &doc); err != nil {
		return nil, tomlError(err)
	}
	return json.Marshal(doc)
}

func tomlError(err error) error {
	var at *toml.DecodeError
	if errors.As(err, &at) {
		line, column := at.Position()
		return fmt.Errorf("the file is not TOML at line %d, column %d", line, column)
	}
	return errors.New("the file is not TOML")
}

// maxBrackets is how many brackets a file that is not plain JSON may have: hujson recurses for each
// open bracket.
const maxBrackets = 50_000

const byteOrderMark = "\xEF\xBB\xBF"

// standardJSON returns text with blanks instead of comments, trailing commas and a byte order mark:
// standard JSON, where everything is at the same offset.
func standardJSON(text []byte) (json.RawMessage, error) {
	text = bytes.Clone(text)
	if bytes.HasPrefix(text, []byte(byteOrderMark)) {
		copy(text, "   ")
	}
	if jsonraw.Valid(text) == nil { // the usual case, and faster
		return text, nil
	}
	if bytes.Count(text, []byte("{"))+bytes.Count(text, []byte("[")) > maxBrackets {
		return nil, errors.New("the file is not JSON: too many brackets are open")
	}
	plain, err := hujson.Standardize(text)
	if err != nil {
		// The error of hujson has no member for the place. The rest of its text may quote the file, and
		// with it a secret.
		place, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "hujson: "), ": ")
		return nil, errors.New("the file is not JSON: " + place)
	}
	if err := jsonraw.Valid(plain); err != nil {
		return nil, fmt.Errorf("the file is not JSON: %w", err)
	}
	return plain, nil
}

// Servers returns the servers in a client's configuration, in the order of the file. doc is the
// result of Decode for the file; the caller decodes YAML itself. A server that mcpc cannot use has
// a Problem.
func Servers(c Client, file, folder string, doc json.RawMessage) []Server {
	c = c.ForProject(folder)
	top, _ := jsonraw.Object(doc)
	servers := top
	for _, step := range c.Member {
		servers, _ = jsonraw.Object(firstValue(servers, step))
	}
	inputs := parseInputs(top)
	var all []Server
	seen := map[string]int{}
	for _, m := range servers {
		s := Server{Client: c, File: file, Folder: folder, Name: m.Name, Inputs: inputs}
		entry, err := jsonraw.Object(m.Value)
		if inner, ok := entry.Get("config"); ok && s.Client.Name == "goose" { // the form of older versions
			inherited, _ := jsonraw.Object(inner)
			entry = append(slices.Clone(entry), inherited...) // Get prefers the members of entry
		}
		s.readEntry(entry)
		if err != nil {
			s.Problem = "its entry is not an object"
		}
		s.Disabled = s.Disabled || isDisabledByGemini(top, m.Name)
		if i, duplicate := seen[s.Name]; duplicate { // only the client knows which one it uses
			s.Problem = "its name is duplicated in the file"
			all[i].Problem = s.Problem
		}
		seen[s.Name] = len(all)
		all = append(all, s)
	}
	return all
}

// firstValue returns the first of several members that is present and not null, or nil.
func firstValue(m jsonraw.Members, names ...string) json.RawMessage {
	for _, name := range names {
		if raw, ok := m.Get(name); ok && string(raw) != "null" {
			return raw
		}
	}
	return nil
}

// firstText returns the text of firstValue, or "".
func firstText(m jsonraw.Members, names ...string) string {
	s, _ := jsonraw.Text(firstValue(m, names...))
	return s
}

// isDisabledByGemini reports whether the member mcp of Gemini CLI's settings excludes a server, or
// allows others only. Other programs have no such member.
func isDisabledByGemini(top jsonraw.Members, name string) bool {
	mcp, _ := jsonraw.Object(firstValue(top, "mcp"))
	excluded, _ := parseStrings(firstValue(mcp, "excluded"))
	allowed, _ := parseStrings(firstValue(mcp, "allowed"))
	allowsAll := len(allowed) == 0
	return slices.Contains(excluded, name) || !allowsAll && !slices.Contains(allowed, name)
}

// SwitchedOff returns the servers of a project's .mcp.json that a settings file of Claude Code
// turns off, for all projects or for the project in folder.
func SwitchedOff(settings json.RawMessage, folder string) []string {
	top, _ := jsonraw.Object(settings)
	projects, _ := jsonraw.Object(firstValue(top, "projects"))
	project, _ := jsonraw.Object(firstValue(projects, folder))
	everywhere, _ := parseStrings(firstValue(top, "disabledMcpjsonServers"))
	here, _ := parseStrings(firstValue(project, "disabledMcpjsonServers"))
	return slices.Concat(everywhere, here)
}

// parseStrings returns a list of strings. It returns false if raw is another value, and true if it
// is nil.
func parseStrings(raw json.RawMessage) (all []string, ok bool) {
	if raw == nil {
		return nil, true
	}
	items, err := jsonraw.Array(raw)
	if err != nil {
		return nil, false
	}
	for _, item := range items {
		s, isText := jsonraw.Text(item)
		if !isText {
			return nil, false
		}
		all = append(all, s)
	}
	return all, true
}

// readEntry reads the members of a server's entry. An entry may have members for two transports:
// only the members for its own are kept.
func (s *Server) readEntry(m jsonraw.Members) {
	s.Disabled = string(firstValue(m, "disabled")) == "true" || string(firstValue(m, "enabled")) == "false"
	s.readCommand(m)
	s.readURL(m)
	s.Kind = s.transport(m)
	if len(s.Command) == 0 && s.URL == "" && s.Problem == "" {
		s.Problem = s.missingServerProblem(m)
	}
	if s.Kind == Stdio {
		s.URL = ""
		s.Headers = nil
		s.Helper = ""
	} else {
		s.Command = nil
		s.Env = nil
		s.Passed = nil
		s.EnvFile = ""
		s.Cwd = ""
	}
}

// missingServerProblem says why an entry has neither a command nor a URL.
func (s *Server) missingServerProblem(m jsonraw.Members) string {
	switch firstText(m, "type", "source") {
	case "builtin", "platform", "frontend", "inline_python":
		return "it is a part of " + s.Client.Title
	case "extension":
		return "an extension of " + s.Client.Title + " starts it"
	}
	if firstValue(m, "settings") != nil {
		return "an extension of " + s.Client.Title + " starts it"
	}
	return "its entry has neither a command nor a URL"
}

// readCommand reads the members of a stdio server.
func (s *Server) readCommand(m jsonraw.Members) {
	raw := firstValue(m, "command", "cmd")
	program, isText := jsonraw.Text(raw)
	args, ok := parseStrings(firstValue(m, "args"))
	environment := firstValue(m, "env", "envs", "environment")
	argv, isList := parseStrings(raw)
	switch {
	case isText: // the program alone
		s.Command = append([]string{program}, args...)
	case isList && raw != nil: // the program with its arguments
		s.Command = append(argv, args...)
	case raw != nil: // the form of older versions of Zed
		inner, _ := jsonraw.Object(raw)
		args, ok = parseStrings(firstValue(inner, "args"))
		environment = firstValue(inner, "env")
		program = firstText(inner, "path")
		if program != "" {
			s.Command = append([]string{program}, args...)
		}
	}
	if !ok {
		s.Problem = "its arguments are not a list of strings"
	}
	if raw != nil && (len(s.Command) == 0 || s.Command[0] == "") {
		s.Problem = "its command is empty"
	}
	s.Env = parseSettings(environment)
	s.Passed = append(parseNames(firstValue(m, "env_vars")), parseNames(firstValue(m, "env_keys"))...)
	s.EnvFile = firstText(m, "envFile")
	s.Cwd = firstText(m, "cwd")
}

// readURL reads the members of a server with a URL.
func (s *Server) readURL(m jsonraw.Members) {
	s.URL = firstText(m, "url", "httpUrl", "serverUrl", "uri")
	s.Headers = parseSettings(firstValue(m, "headers", "http_headers"))
	for _, h := range parseSettings(firstValue(m, "env_http_headers")) {
		s.Headers = append(s.Headers, Setting{h.Name, "${" + h.Value + "}"})
	}
	for _, helper := range []string{"headersHelper", "http_headers_helper"} {
		if firstValue(m, helper) != nil {
			s.Helper = helper // only the member's name, for a message: a helper is never run
		}
	}
	if name := firstText(m, "bearer_token_env_var"); name != "" {
		s.Headers = append(s.Headers, Setting{"Authorization", "Bearer ${" + name + "}"})
	}
}

// transport returns the transport that the entry names, else the transport that its members imply.
func (s *Server) transport(m jsonraw.Members) Transport {
	switch firstText(m, "type", "transport", "transportType") {
	case "stdio":
		return Stdio
	case "sse":
		return SSE
	case "http", "streamable-http", "streamableHttp", "streamable_http":
		return HTTP
	}
	if len(s.Command) > 0 || s.URL == "" {
		return Stdio
	}
	isHTTPURL := firstText(m, "httpUrl") != "" // Gemini CLI has two members: httpUrl, and url for SSE
	if !isHTTPURL && s.Client.bareURL != "" {
		return s.Client.bareURL
	}
	return HTTP
}

// parseSettings returns the members of an object with values for an environment variable or a
// header field: texts, numbers and booleans.
func parseSettings(raw json.RawMessage) []Setting {
	members, _ := jsonraw.Object(raw)
	var all []Setting
	for _, m := range members {
		s, isText := jsonraw.Text(m.Value)
		if !isText {
			s = string(m.Value)
			if s == "null" || s[0] == '{' || s[0] == '[' {
				continue
			}
		}
		all = append(all, Setting{m.Name, s})
	}
	return all
}

// parseNames returns the names in a list of texts or of objects with a member name.
func parseNames(raw json.RawMessage) []string {
	items, _ := jsonraw.Array(raw)
	var names []string
	for _, item := range items {
		name, isText := jsonraw.Text(item)
		if !isText {
			name, _ = jsonraw.Text(jsonraw.First(item, "name"))
		}
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}

// parseInputs returns the inputs of Visual Studio Code, the values of ${input:ID}.
func parseInputs(top jsonraw.Members) []ClientInput {
	items, _ := jsonraw.Array(firstValue(top, "inputs"))
	var inputs []ClientInput
	for _, item := range items {
		m, _ := jsonraw.Object(item)
		in := ClientInput{
			ID: firstText(m, "id"), Description: firstText(m, "description"), Default: firstText(m, "default"),
			Secret: string(firstValue(m, "password")) == "true",
		}
		in.Options, _ = parseStrings(firstValue(m, "options"))
		if in.ID != "" {
			inputs = append(inputs, in)
		}
	}
	return inputs
}
