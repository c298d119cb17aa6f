package auth

import "slices"

// Settings are the user's choices for logins at a server. They are stored, so that the user need not
// repeat them.
type Settings struct {
	// Named is set if the user named the issuer.
	Named bool `json:"issuer_named,omitempty"`
	// DocumentURL is the URL of a client metadata document.
	DocumentURL string `json:"client_metadata_url,omitempty"`
	// Port is the port of the redirect URI; 0 is any.
	Port *int `json:"callback_port,omitempty"`
	// Redirect is the redirect URI on this machine, or "" to use the default. If it has no port,
	// Port counts.
	Redirect string `json:"redirect_uri,omitempty"`
	// AssumePKCE is set if the user trusts the server to check PKCE although it does not declare that.
	AssumePKCE *bool `json:"assume_pkce,omitempty"`
	// OmitResource omits the parameter "resource" (RFC 8707), which some servers reject.
	OmitResource *bool `json:"omit_resource,omitempty"`
	// Parameters are added to the URL that the browser opens.
	Parameters map[string]string `json:"authorize_parameters,omitempty"`
}

// withDefaults returns s with the values of last for the settings that are not set.
func (s Settings) withDefaults(last Settings) Settings {
	s.Named = s.Named || last.Named
	if s.DocumentURL == "" {
		s.DocumentURL = last.DocumentURL
	}
	if s.Redirect == "" && s.Port == nil { // either of them sets the redirect URI
		s.Redirect = last.Redirect
		s.Port = last.Port
	}
	if s.AssumePKCE == nil {
		s.AssumePKCE = last.AssumePKCE
	}
	if s.OmitResource == nil {
		s.OmitResource = last.OmitResource
	}
	if s.Parameters == nil {
		s.Parameters = last.Parameters
	}
	return s
}

// isSet reports whether a choice was made and is true.
func isSet(choice *bool) bool { return choice != nil && *choice }

// isEmpty reports whether no setting has to be stored.
func (s Settings) isEmpty() bool {
	return !s.Named && s.DocumentURL == "" && s.Port == nil && s.Redirect == "" &&
		s.AssumePKCE == nil && s.OmitResource == nil && len(s.Parameters) == 0
}

// IsOwnParameter reports whether only mcpc may set a parameter of an authorization request.
func IsOwnParameter(name string) bool { return slices.Contains(ownParameters, name) }

// A Remembered has the settings of an account's logins at a server with one issuer.
type Remembered struct {
	Endpoint string `json:"endpoint"`
	Account  string `json:"account,omitempty"`
	Issuer   string `json:"issuer"`
	Settings
}

// settings returns the settings of the last login, or the zero Settings.
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

// putSettings stores the settings of a login. It replaces the settings of the last login.
func (b *Records) putSettings(r Remembered) {
	b.dropSettings(r.Endpoint, r.Account)
	if !r.isEmpty() {
		b.Settings = append(b.Settings, r)
	}
}

// dropSettings deletes the settings of the last login.
func (b *Records) dropSettings(endpoint, account string) {
	b.Settings = slices.DeleteFunc(slices.Clone(b.Settings), func(r Remembered) bool {
		return r.Endpoint == endpoint && r.Account == account
	})
}
