package target

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
)

// A Transport is how a program's configuration says that a server is spoken to.
type Transport string

// The transports that configurations know.
const (
	Stdio Transport = "stdio"
	HTTP  Transport = "http"
	SSE   Transport = "sse"
)

// A Setting is a name and a value as written in a file, with its variables. The
// value may be a secret.
type Setting struct{ Name, Value string }

// A Server is one that a client's configuration names. Everything in it is as
// written in the file: nothing is checked, and no variable has its value yet.
type Server struct {
	Client Client
	// File is where it stands, and Folder that of the project which the file belongs
	// to; of a file that belongs to none it is the folder that mcpc runs in.
	File, Folder string
	Name         string
	Kind         Transport

	// Command and what follows is for stdio. Passed are variables of the environment
	// that the server is given as they are; EnvFile holds more.
	Command []string
	Env     []Setting
	Passed  []string
	EnvFile string
	Cwd     string

	// URL and Headers are for the others.
	URL     string
	Headers []Setting
	// Helper is the member that names a command which makes more header fields, or "". mcpc does not run it.
	Helper string

	Disabled bool
	// Problem says why mcpc cannot use it, or is "".
	Problem string
	Inputs  []ClientInput
}

// An ClientInput is a value that Visual Studio Code asks a person for.
type ClientInput struct {
	ID, Description, Default string
	Options                  []string
	Secret                   bool
}

// ID names the server among all that are known.
func (s Server) ID() string { return s.Client.Name + ":" + s.Name }

// Same reports whether two are one server, whatever they are called and wherever
// they stand: nothing would be done differently.
func (s Server) Same(other Server) bool {
	return s.Fingerprint() == other.Fingerprint() && slices.Equal(s.Env, other.Env) &&
		slices.Equal(s.Headers, other.Headers) && s.Problem == other.Problem
}

// Fingerprint is what a person confirms: the command word for word, the names of the
// environment, the folder, or the URL and the names of header fields. Values are not
// in it, so that a new token is no new command; the variables that they are made of
// are, and so are those values that say what a program loads.
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
	}{Kind: s.Kind, Command: s.Command, Env: Names(s.Env), Passed: s.Passed, EnvFile: s.EnvFile, Cwd: s.Cwd,
		URL: s.URL, Headers: Names(s.Headers), Variables: s.Variables()}
	if s.Client.Project {
		confirmed.Project = s.Folder
	}
	for _, e := range s.Env {
		if loadsCode(e.Name) {
			confirmed.Load = append(confirmed.Load, e.Name+"="+e.Value)
		}
	}
	slices.Sort(confirmed.Env)
	slices.Sort(confirmed.Headers)
	slices.Sort(confirmed.Load)
	raw, _ := json.Marshal(confirmed) // strings always marshal
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// loads reports a variable that makes an interpreter or the system's linker run
// other code than the command names.
func loadsCode(name string) bool {
	name = strings.ToUpper(name)
	for _, begin := range []string{"LD_", "DYLD_", "NODE_", "NPM_CONFIG_", "PYTHON", "UV_", "PIP_", "RUBY", "PERL5", "JAVA_TOOL", "GIT_", "DOTNET_"} {
		if strings.HasPrefix(name, begin) {
			return true
		}
	}
	return slices.Contains([]string{"PATH", "BASH_ENV", "ENV", "SHELL", "IFS", "JDK_JAVA_OPTIONS", "HOME"}, name)
}

// Names are the names of settings, in their order.
func Names(settings []Setting) (names []string) {
	for _, s := range settings {
		names = append(names, s.Name)
	}
	return names
}
