package target

import (
	"path/filepath"
	"slices"
	"strings"
)

// A Lookup gives the values of variables, when a server is really used.
type Lookup struct {
	// Env reads the environment.
	Env func(name string) (value string, ok bool)
	// Home is the user's folder.
	Home string
	// Input asks for a value of Visual Studio Code's inputs.
	Input func(ClientInput) (string, error)
}

// A VariableError is a variable in a configuration that has no value here.
type VariableError struct {
	// Variable is as written in the file, Env its name in the environment or "".
	Variable, Env string
}

func (e *VariableError) Error() string {
	if e.Env != "" {
		return "the variable " + e.Env + " is not set"
	}
	return e.Variable + " has no value here"
}

// Resolved is the server with the values of its variables. Nothing else reads them.
func (s Server) Resolved(l Lookup) (Server, error) {
	var failed error
	resolve := func(text string) string {
		value, err := s.expand(text, l)
		if failed == nil {
			failed = err
		}
		return value
	}
	s.Command, s.Env, s.Headers = slices.Clone(s.Command), slices.Clone(s.Env), slices.Clone(s.Headers)
	for i := range s.Command {
		s.Command[i] = resolve(s.Command[i])
	}
	for _, settings := range [][]Setting{s.Env, s.Headers} {
		for i := range settings {
			settings[i].Value = resolve(settings[i].Value)
		}
	}
	s.URL, s.Cwd, s.EnvFile = resolve(s.URL), resolve(s.Cwd), resolve(s.EnvFile)
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

// Variables are those of the environment and of a person that the server is made
// of, as names to show: NAME, or input:ID.
func (s Server) Variables() (names []string) {
	_, _ = s.Resolved(Lookup{
		Env:   func(name string) (string, bool) { names = append(names, name); return "", true },
		Input: func(in ClientInput) (string, error) { names = append(names, "input:"+in.ID); return "", nil },
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// A variable is one ${…} or $NAME of a setting: env or input is set, or else word, such
// as the workspaceFolder of editors.
type variable struct {
	env, input, word string
	// fallback is what follows :-, given tells an empty one from none.
	fallback    string
	hasFallback bool
	text        string
}

func (s Server) expand(text string, l Lookup) (string, error) {
	return s.eachVariable(text, func(v variable) (string, error) {
		if v.env != "" {
			if value, ok := l.Env(v.env); ok && (value != "" || !v.hasFallback) {
				return value, nil
			} else if v.hasFallback {
				return v.fallback, nil
			}
			return "", &VariableError{Variable: v.text, Env: v.env}
		}
		if v.input != "" {
			i := slices.IndexFunc(s.Inputs, func(in ClientInput) bool { return in.ID == v.input })
			if i < 0 || l.Input == nil {
				return "", &VariableError{Variable: v.text}
			}
			return l.Input(s.Inputs[i])
		}
		return s.placeValue(v, l)
	})
}

// place is a variable that names a place.
func (s Server) placeValue(v variable, l Lookup) (string, error) {
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

// eachVariable puts what f gives in the place of each variable.
func (s Server) eachVariable(text string, f func(variable) (string, error)) (string, error) {
	var b strings.Builder
	var failed error
	put := func(v variable) {
		value, err := f(v)
		if failed == nil {
			failed = err
		}
		b.WriteString(value)
	}
	for text != "" {
		at := strings.IndexByte(text, '$')
		if at < 0 {
			break
		}
		b.WriteString(text[:at])
		text = text[at:]
		end := strings.IndexByte(text, '}')
		bare := len(text) - len(strings.TrimLeft(text[1:], nameCharacters[:62]+"_"))
		switch {
		case strings.HasPrefix(text, "${") && end > 2 && (!s.Client.onlyInputs || strings.HasPrefix(text, "${input:")):
			put(variableIn(text[2:end], text[:end+1]))
			text = text[end+1:]
		case s.Client.plainVariables && isVariable(text[1:bare]):
			put(variable{env: text[1:bare], text: text[:bare]})
			text = text[bare:]
		default:
			b.WriteByte('$')
			text = text[1:]
		}
	}
	return b.String() + text, failed
}

func variableIn(inner, whole string) variable {
	v := variable{text: whole}
	if id, ok := strings.CutPrefix(inner, "input:"); ok {
		v.input = id
		return v
	}
	name, fallback, given := strings.Cut(strings.TrimPrefix(inner, "env:"), ":-")
	v.fallback = fallback
	v.hasFallback = given
	words := []string{"workspaceFolder", "workspaceRoot", "cwd", "workspaceFolderBasename", "userHome", "pathSeparator"}
	if isVariable(name) && (strings.HasPrefix(inner, "env:") || !slices.Contains(words, name)) {
		v.env = name
	} else {
		v.word = inner
	}
	return v
}

// isVariable reports a name that a variable of the environment can have.
func isVariable(name string) bool {
	return name != "" && hasOnly(name, nameCharacters[:62]+"_") && (name[0] < '0' || name[0] > '9')
}
