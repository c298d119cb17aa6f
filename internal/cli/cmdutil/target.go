package cmdutil

import (
	"slices"

	"mcpc/internal/client/auth"
	"mcpc/internal/redact"
	"mcpc/internal/usage"
)

// UseURL removes the first URL from the words of a command and uses it as the server, as with
// -s. Without a URL it returns words unchanged.
func (f *Factory) UseURL(words, argv []string) (others []string, err error) {
	i := slices.IndexFunc(words, IsURL)
	if i < 0 {
		return words, nil
	}
	others = slices.Delete(slices.Clone(words), i, i+1)
	if f.Shell != nil {
		return nil, usage.New("all lines of the shell use the same server", "use another terminal for another server")
	}
	if slices.ContainsFunc(others, IsURL) {
		return nil, usage.New("two servers are given", "use only one of them")
	}
	return others, f.SetServer(words[i], argv)
}

// SetServer sets the server that a word of the command names. Returns an error if -s or argv names
// one too.
func (f *Factory) SetServer(server string, argv []string) error {
	if f.ServerGiven {
		return usage.New("two servers are given: "+redact.RedactURL(server)+" and one with -s", "use only one of them")
	}
	if argv != nil {
		return usage.New("two servers are given: "+redact.RedactURL(server)+" and one after --", "use only one of them")
	}
	f.Server = server
	f.ServerGiven = true
	f.NameServer(nil)
	return nil
}

// IsLocal reports whether the server is on this machine. endpoint is "" if the server uses stdio.
func IsLocal(endpoint string) bool {
	return endpoint == "" || auth.IsLocal(endpoint)
}
