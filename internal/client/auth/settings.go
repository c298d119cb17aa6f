package auth

import (
	"cmp"
	"slices"
)

// Settings are what the user chooses for the logins at a server, and need not repeat.
type Settings struct {
	// Named is set where the user named the issuer.
	Named bool `json:"issuer_named,omitempty"`
	// DocumentURL is where a client metadata document is.
	DocumentURL string `json:"client_metadata_url,omitempty"`
	// Port is where the browser comes back to; 0 is any.
	Port *int `json:"callback_port,omitempty"`
	// Redirect is the URI on this machine that the browser is sent back to; "" is the usual one. Without a port in it
	// Port counts.
	Redirect string `json:"redirect_uri,omitempty"`
	// AssumePKCE is set where a server is trusted to check PKCE although it does not declare it.
	AssumePKCE *bool `json:"assume_pkce,omitempty"`
	// OmitResource leaves the parameter "resource" out (RFC 8707), which some servers reject.
	OmitResource *bool `json:"omit_resource,omitempty"`
	// Parameters are added to the URL that the browser opens.
	Parameters map[string]string `json:"authorize_parameters,omitempty"`
}

// over returns the settings, and for what they do not say those of the last login.
func (s Settings) over(last Settings) Settings {
	s.Named = s.Named || last.Named
	s.DocumentURL = cmp.Or(s.DocumentURL, last.DocumentURL)
	if s.Redirect == "" && s.Port == nil { // one of them says where the browser comes back to
		s.Redirect = last.Redirect
		s.Port = last.Port
	}
	s.AssumePKCE = cmp.Or(s.AssumePKCE, last.AssumePKCE)
	s.OmitResource = cmp.Or(s.OmitResource, last.OmitResource)
	if s.Parameters == nil {
		s.Parameters = last.Parameters
	}
	return s
}

// isSet reports a choice that was made, and not against.
func isSet(choice *bool) bool { return choice != nil && *choice }

// sayNothing reports settings that need not be stored.
func (s Settings) sayNothing() bool {
	return !s.Named && s.DocumentURL == "" && s.Port == nil && s.Redirect == "" &&
		s.AssumePKCE == nil && s.OmitResource == nil && len(s.Parameters) == 0
}

// IsOwnParameter reports a parameter of an authorization request that only mcpc may set.
func IsOwnParameter(name string) bool { return slices.Contains(ownParameters, name) }

// A Remembered is what an account's logins at a server have in common while the server keeps its authorization
// server.
type Remembered struct {
	Endpoint string `json:"endpoint"`
	Account  string `json:"account,omitempty"`
	Issuer   string `json:"issuer"`
	Settings
}

// settings returns the settings of the last login; the zero Settings if there were none.
func (b *Records) settings(endpoint, account, issuer string) Settings {
	for _, r := range b.Settings {
		if r.Endpoint == endpoint && r.Account == account && r.Issuer == issuer {
			return r.Settings
		}
	}
	return Settings{}
}

// namedIssuer returns the issuer that the user named at the last login, or "".
func (b *Records) namedIssuer(endpoint, account string) string {
	for _, s := range b.Settings {
		if s.Named && s.Endpoint == endpoint && s.Account == account {
			return s.Issuer
		}
	}
	return ""
}

// putSettings stores the settings of a login in place of the last one's.
func (b *Records) putSettings(r Remembered) {
	b.dropSettings(r.Endpoint, r.Account)
	if !r.sayNothing() {
		b.Settings = append(b.Settings, r)
	}
}

func (b *Records) dropSettings(endpoint, account string) {
	b.Settings = slices.DeleteFunc(slices.Clone(b.Settings), func(r Remembered) bool {
		return r.Endpoint == endpoint && r.Account == account
	})
}
