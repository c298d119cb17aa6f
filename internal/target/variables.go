package target

import (
	"path/filepath"
	"slices"
	"strings"
)

// A Lookup returns the values of variables when mcpc uses a server.
type Lookup struct {
	// Env reads the environment.
	Env func(name string) (value string, ok bool)
	// Home is the user's home directory.
	Home string
	// Input asks the user for the value of an input of Visual Studio Code; nil if it cannot.
	Input func(ClientInput) (string, error)
}

// A VariableError means that a variable in a configuration has no value.
type VariableError struct {
	// Variable is the variable as written in the file, Env its name in the environment or "".
	Variable, Env string
}

func (e *VariableError) Error() string {
	if e.Env != "" {
		return "the variable " + e.Env + " is not set"
	}
	return e.Variable + " has no value here"
}

// Resolved returns the server with the values of its variables, and with absolute paths: a relative
// path is below the server's folder. It returns the error of the first variable without a value,
// which becomes "".
func (s Server) Resolved(l Lookup) (Server, error) {
	var failed error
	expand := func(text string, own []string) string {
		value, err := s.expand(text, l, own)
		if failed == nil {
			failed = err
		}
		return value
	}
	resolve := func(text string) string { return expand(text, nil) }
	own := Names(s.Env)
	s.Command = slices.Clone(s.Command)
	s.Env = slices.Clone(s.Env)
	s.Headers = slices.Clone(s.Headers)
	for i := range s.Command {
		s.Command[i] = expand(s.Command[i], own)
	}
	for _, settings := range [][]Setting{s.Env, s.Headers} {
		for i := range settings {
			settings[i].Value = resolve(settings[i].Value)
		}
	}
	s.URL = resolve(s.URL)
	s.Cwd = resolve(s.Cwd)
	s.EnvFile = resolve(s.EnvFile)
	for _, path := range []*string{&s.Cwd, &s.EnvFile} {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(s.Folder, *path)
		}
	}
	if s.Cwd == "" && s.Client.Project {
		s.Cwd = s.Folder
	}
	return s, failed
}

// Variables returns the names of the environment variables that the server uses, and input:ID for
// each of its inputs, sorted.
func (s Server) Variables() []string {
	var names []string
	// Each variable gets an empty value, because only its name is wanted.
	_, _ = s.Resolved(Lookup{
		Env:   func(name string) (string, bool) { names = append(names, name); return "", true },
		Input: func(in ClientInput) (string, error) { names = append(names, "input:"+in.ID); return "", nil },
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// A variable is one ${…} or $NAME in a setting. Exactly one member of env, input and word is set;
// word is another variable of an editor, such as workspaceFolder.
type variable struct {
	env, input, word string
	// fallback is the text after :-, hasFallback is true if there is a :-.
	fallback    string
	hasFallback bool
	text        string
}

// expand replaces the variables in text by their values. own are variables that the entry sets for its
// command: ${NAME} of them stays if it has no other value, because programs such as mcp-remote and
// mcpc serve replace it in their arguments.
func (s Server) expand(text string, l Lookup, own []string) (string, error) {
	return s.eachVariable(text, func(v variable) (string, error) {
		if v.env != "" {
			value, ok := l.Env(v.env)
			if v.hasFallback && (!ok || value == "") {
				return v.fallback, nil
			}
			if !ok && slices.Contains(own, v.env) && v.text == "${"+v.env+"}" {
				return v.text, nil
			}
			if !ok {
				return "", &VariableError{Variable: v.text, Env: v.env}
			}
			return value, nil
		}
		if v.input != "" {
			i := slices.IndexFunc(s.Inputs, func(in ClientInput) bool { return in.ID == v.input })
			if i < 0 || l.Input == nil {
				return "", &VariableError{Variable: v.text}
			}
			return l.Input(s.Inputs[i])
		}
		return s.editorValue(v, l)
	})
}

// editorValue returns the value of an editor's variable.
func (s Server) editorValue(v variable, l Lookup) (string, error) {
	switch v.word {
	case "workspaceFolder", "workspaceRoot", "cwd":
		return s.Folder, nil
	case "workspaceFolderBasename":
		return filepath.Base(s.Folder), nil
	case "userHome":
		return l.Home, nil
	case "/", "pathSeparator":
		return string(filepath.Separator), nil
	}
	return "", &VariableError{Variable: v.text}
}

// eachVariable replaces each variable in text by the result of valueOf. The client decides which
// forms are variables; it keeps any other "$". It returns the first error of valueOf.
func (s Server) eachVariable(text string, valueOf func(variable) (string, error)) (string, error) {
	var b strings.Builder
	var failed error
	replace := func(v variable) {
		value, err := valueOf(v)
		if failed == nil {
			failed = err
		}
		b.WriteString(value)
	}
	for text != "" {
		dollar := strings.IndexByte(text, '$')
		if dollar < 0 {
			break
		}
		b.WriteString(text[:dollar])
		text = text[dollar:]
		end := strings.IndexByte(text, '}')
		isKnownForm := !s.Client.onlyInputs || strings.HasPrefix(text, "${input:")
		inBraces := strings.HasPrefix(text, "${") && end > len("${") && isKnownForm
		nameEnd := len(text) - len(strings.TrimLeft(text[1:], variableCharacters)) // the end of a name without braces
		// The text begins with the "$".
		if inBraces {
			replace(parseVariable(text[len("${"):end], text[:end+1]))
			text = text[end+1:]
		} else if s.Client.plainVariables && isVariableName(text[1:nameEnd]) {
			replace(variable{env: text[1:nameEnd], text: text[:nameEnd]})
			text = text[nameEnd:]
		} else {
			b.WriteByte('$')
			text = text[1:]
		}
	}
	return b.String() + text, failed
}

// parseVariable parses a variable in braces from its text, and inner, the text between the braces.
func parseVariable(inner, text string) variable {
	v := variable{text: text}
	if id, ok := strings.CutPrefix(inner, "input:"); ok {
		v.input = id
		return v
	}
	name, fallback, hasFallback := strings.Cut(strings.TrimPrefix(inner, "env:"), ":-")
	v.fallback = fallback
	v.hasFallback = hasFallback
	words := []string{"workspaceFolder", "workspaceRoot", "cwd", "workspaceFolderBasename", "userHome", "pathSeparator"}
	// An editor's variable looks like a variable of the environment: env: before a name makes it
	// the latter.
	isFromEnvironment := strings.HasPrefix(inner, "env:") || !slices.Contains(words, name)
	if isVariableName(name) && isFromEnvironment {
		v.env = name
	} else {
		v.word = inner
	}
	return v
}

// isVariableName reports whether a variable of the environment can have the name.
func isVariableName(name string) bool {
	return name != "" && hasOnly(name, variableCharacters) && (name[0] < '0' || name[0] > '9')
}

const variableCharacters = letters + digits + "_"
