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

// What follows reads configurations that other programs own. They agree on little:
// each has its own name for the same thing. An entry that makes no sense is still
// shown, with its problem.

// Decode makes JSON of a client's file, by its ending: TOML, or JSON with comments
// and commas behind the last element. The error says where the file breaks off and
// quotes nothing of it.
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

// maxBrackets is how many brackets may open in a file that is not plain JSON. The library
// that takes comments away goes one call deeper with each that is open.
const maxBrackets = 50_000

// standard is text with blanks in the place of comments, of commas behind the last
// element and of a byte order mark: JSON, in which everything stands where it stood.
func standardJSON(text []byte) (json.RawMessage, error) {
	text = bytes.Clone(text)
	if bytes.HasPrefix(text, []byte("\xEF\xBB\xBF")) {
		copy(text, "   ")
	}
	if jsonraw.Valid(text) == nil { // most are, and some are long
		return text, nil
	}
	if bytes.Count(text, []byte("{"))+bytes.Count(text, []byte("[")) > maxBrackets {
		return nil, errors.New("the file is not JSON: too many brackets are open")
	}
	plain, err := hujson.Standardize(text)
	if err != nil {
		// What follows the place may quote the file, and with it a secret.
		place, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "hujson: "), ": ")
		return nil, errors.New("the file is not JSON: " + place)
	}
	if bad := jsonraw.Valid(plain); bad != nil {
		return nil, fmt.Errorf("the file is not JSON: %w", bad)
	}
	return plain, nil
}

// Servers takes a client's configuration apart. doc is what Decode returned for the
// file; the caller decodes a file in YAML itself.
func Servers(c Client, file, folder string, doc json.RawMessage) []Server {
	c = c.ForProject(folder)
	top, _ := jsonraw.Object(doc)
	at := top
	for _, step := range c.Member {
		at, _ = jsonraw.Object(firstValue(at, step))
	}
	inputs := parseInputs(top)
	var all []Server
	seen := map[string]int{}
	for _, m := range at {
		s := Server{Client: c, File: file, Folder: folder, Name: m.Name, Inputs: inputs}
		entry, bad := jsonraw.Object(m.Value)
		if inner, ok := entry.Get("config"); ok && s.Client.Name == "goose" { // as older versions write it
			more, _ := jsonraw.Object(inner)
			entry = append(slices.Clone(entry), more...)
		}
		s.read(entry)
		if bad != nil {
			s.Problem = "its entry is not an object"
		}
		s.Disabled = s.Disabled || isSwitchedOff(top, m.Name)
		if i, twice := seen[s.Name]; twice { // only the client knows which one it uses
			s.Problem = "its name is duplicated in the file"
			all[i].Problem = s.Problem
		}
		seen[s.Name] = len(all)
		all = append(all, s)
	}
	return all
}

// value is the first of some members that there is, or nil. A null is none.
func firstValue(m jsonraw.Members, names ...string) json.RawMessage {
	for _, name := range names {
		if raw, ok := m.Get(name); ok && string(raw) != "null" {
			return raw
		}
	}
	return nil
}

func firstText(m jsonraw.Members, names ...string) string {
	s, _ := jsonraw.Text(firstValue(m, names...))
	return s
}

// switchedOff: Gemini CLI has lists of the servers that it is to use, and not to.
func isSwitchedOff(top jsonraw.Members, name string) bool {
	mcp, _ := jsonraw.Object(firstValue(top, "mcp"))
	excluded, _ := parseStrings(firstValue(mcp, "excluded"))
	allowed, _ := parseStrings(firstValue(mcp, "allowed"))
	return slices.Contains(excluded, name) || len(allowed) > 0 && !slices.Contains(allowed, name)
}

// SwitchedOff are the servers of a project's .mcp.json that a settings file of Claude
// Code says it does not use: for all projects, or for that of the folder.
func SwitchedOff(settings json.RawMessage, folder string) []string {
	top, _ := jsonraw.Object(settings)
	projects, _ := jsonraw.Object(firstValue(top, "projects"))
	project, _ := jsonraw.Object(firstValue(projects, folder))
	everywhere, _ := parseStrings(firstValue(top, "disabledMcpjsonServers"))
	here, _ := parseStrings(firstValue(project, "disabledMcpjsonServers"))
	return slices.Concat(everywhere, here)
}

// list are strings; false where there is something else among them.
func parseStrings(raw json.RawMessage) (all []string, ok bool) {
	if raw == nil {
		return nil, true
	}
	items, bad := jsonraw.Array(raw)
	if bad != nil {
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

func (s *Server) read(m jsonraw.Members) {
	s.Disabled = string(firstValue(m, "disabled")) == "true" || string(firstValue(m, "enabled")) == "false"
	s.readCommand(m)
	s.readURL(m)
	s.Kind = s.transport(m)
	if len(s.Command) == 0 && s.URL == "" && s.Problem == "" {
		s.Problem = s.missingServer(m)
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

// nowhere says of an entry that leads to no server why that is.
func (s *Server) missingServer(m jsonraw.Members) string {
	switch word := firstText(m, "type", "source"); word {
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

func (s *Server) readCommand(m jsonraw.Members) {
	raw := firstValue(m, "command", "cmd")
	program, isText := jsonraw.Text(raw)
	args, ok := parseStrings(firstValue(m, "args"))
	environment := firstValue(m, "env", "envs", "environment")
	switch whole, isList := parseStrings(raw); {
	case raw == nil:
	case isText:
		s.Command = append([]string{program}, args...)
	case isList:
		s.Command = append(whole, args...)
	default: // as older versions of Zed write it
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
	s.EnvFile, s.Cwd = firstText(m, "envFile"), firstText(m, "cwd")
}

func (s *Server) readURL(m jsonraw.Members) {
	s.URL = firstText(m, "url", "httpUrl", "serverUrl", "uri")
	s.Headers = parseSettings(firstValue(m, "headers", "http_headers"))
	for _, h := range parseSettings(firstValue(m, "env_http_headers")) {
		s.Headers = append(s.Headers, Setting{h.Name, "${" + h.Value + "}"})
	}
	for _, helper := range []string{"headersHelper", "http_headers_helper"} {
		if firstValue(m, helper) != nil {
			s.Helper = helper
		}
	}
	if name := firstText(m, "bearer_token_env_var"); name != "" {
		s.Headers = append(s.Headers, Setting{"Authorization", "Bearer ${" + name + "}"})
	}
}

// kindOf goes by the word that the entry has for it, else by what the entry has.
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
	if firstText(m, "httpUrl") == "" && s.Client.bareURL != "" {
		return s.Client.bareURL
	}
	return HTTP
}

// settings are the members of an object whose values can stand in an environment or
// a header field.
func parseSettings(raw json.RawMessage) (all []Setting) {
	members, _ := jsonraw.Object(raw)
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

// namesIn are names in a list, whose items may be objects that have one.
func parseNames(raw json.RawMessage) (names []string) {
	items, _ := jsonraw.Array(raw)
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

// inputsOf are what the variables ${input:ID} of Visual Studio Code stand for.
func parseInputs(top jsonraw.Members) (inputs []ClientInput) {
	items, _ := jsonraw.Array(firstValue(top, "inputs"))
	for _, item := range items {
		m, _ := jsonraw.Object(item)
		in := ClientInput{ID: firstText(m, "id"), Description: firstText(m, "description"), Default: firstText(m, "default"),
			Secret: string(firstValue(m, "password")) == "true"}
		in.Options, _ = parseStrings(firstValue(m, "options"))
		if in.ID != "" {
			inputs = append(inputs, in)
		}
	}
	return inputs
}
