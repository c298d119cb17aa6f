package target

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
)

// A Transport is the transport of a server in a program's configuration.
type Transport string

// The transports that configurations know.
const (
	Stdio Transport = "stdio"
	HTTP  Transport = "http"
	SSE   Transport = "sse"
)

// A Setting is a name and a value as written in a file, with variables. The value may be a secret.
type Setting struct{ Name, Value string }

// A Server is a server in a client's configuration. Its values are as written in the file:
// unchecked, and with variables.
type Server struct {
	Client Client
	// File is the configuration file, Folder the folder of its project, or the folder that mcpc
	// runs in if the file belongs to no project.
	File, Folder string
	Name         string
	Kind         Transport

	// Command to Cwd are for stdio. Passed are variables of the environment that the server gets
	// unchanged; EnvFile is a file with more variables.
	Command []string
	Env     []Setting
	Passed  []string
	EnvFile string
	Cwd     string

	// URL and Headers are for the other transports.
	URL     string
	Headers []Setting
	// Helper is the member that names a command for more header fields, or "". mcpc does not run
	// it.
	Helper string

	Disabled bool
	// Problem says why mcpc cannot use the server, or is "".
	Problem string
	Inputs  []ClientInput
}

// A ClientInput is a value that Visual Studio Code asks the user for.
type ClientInput struct {
	ID, Description, Default string
	Options                  []string
	Secret                   bool
}

// ID identifies the server among the servers of all clients.
func (s Server) ID() string { return s.Client.Name + ":" + s.Name }

// Same reports whether two servers start or connect in the same way, whatever their names and
// files.
func (s Server) Same(other Server) bool {
	return s.Fingerprint() == other.Fingerprint() && slices.Equal(s.Env, other.Env) &&
		slices.Equal(s.Headers, other.Headers) && s.Problem == other.Problem
}

// Fingerprint returns a hash of what a user confirms: the command, the names of environment
// variables, the folder, or the URL and the names of header fields. It ignores values, so that a
// new token is not a new command, but it includes the names of the variables in them, and values
// that decide what code a program loads.
func (s Server) Fingerprint() string {
	confirmed := struct {
		Kind            Transport
		Command         []string
		Env, Passed     []string
		EnvFile, Cwd    string
		URL             string
		Headers         []string
		Project         string
		Variables, Load []string
	}{
		Kind:      s.Kind,
		Command:   s.Command,
		Env:       Names(s.Env),
		Passed:    s.Passed,
		EnvFile:   s.EnvFile,
		Cwd:       s.Cwd,
		URL:       s.URL,
		Headers:   Names(s.Headers),
		Variables: s.Variables(),
	}
	if s.Client.Project {
		confirmed.Project = s.Folder
	}
	for _, e := range s.Env {
		if loadsCode(e.Name) {
			confirmed.Load = append(confirmed.Load, e.Name+"="+e.Value)
		}
	}
	// Another order in the file is not a change.
	slices.Sort(confirmed.Env)
	slices.Sort(confirmed.Headers)
	slices.Sort(confirmed.Load)
	raw, _ := json.Marshal(confirmed) // strings always marshal
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// loadsCode reports whether a variable makes an interpreter or the linker run other code than the
// command names, by itself or by settings in the folder that it names (HOME).
func loadsCode(name string) bool {
	name = strings.ToUpper(name)
	for _, prefix := range []string{
		"LD_", "DYLD_", "NODE_", "NPM_CONFIG_", "PYTHON", "UV_", "PIP_", "RUBY", "PERL5",
		"JAVA_TOOL", "GIT_", "DOTNET_",
	} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return slices.Contains([]string{"PATH", "BASH_ENV", "ENV", "SHELL", "IFS", "JDK_JAVA_OPTIONS", "HOME"}, name)
}

// Names returns the names of settings, in their order.
func Names(settings []Setting) []string {
	var names []string
	for _, s := range settings {
		names = append(names, s.Name)
	}
	return names
}
