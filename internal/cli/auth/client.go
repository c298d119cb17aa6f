package auth

import (
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/client/auth"
	"mcpc/internal/connect/host"
	"mcpc/internal/sliceutil"
	"mcpc/internal/suggest"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// clientFlags declares the flags that select the grant and the client's credentials.
func (o *loginOptions) clientFlags(f *pflag.FlagSet) {
	f.StringVar(&o.grant, "grant", "", "the `grant`: "+strings.Join(grantWords(), ", ")+
		" (default: the one of the stored token; without one, "+string(auth.Grants[0])+")")
	f.StringVar(&o.client.ID, "client-id", "", "client `ID` registered at the authorization server")
	f.StringVar(&o.secretFile, "client-secret-file", "", "`file` with the client secret")
	f.StringVar(&o.secret, "client-secret", "", "client `secret`; visible to other users, prefer a file")
	f.StringVar(&o.settings.DocumentURL, "client-metadata-url", "", "`URL` of your client ID metadata document")
	f.StringVar(&o.registrationTokenFile, "registration-token-file", "",
		"`file` with the initial access token for registering a client (or in "+registrationTokenVariable+")")
	f.StringVar(&o.client.KeyFile, "private-key", "", "`file` with the private key of the client (PEM)")
	f.StringVar(&o.client.KeyID, "key-id", "", "key `ID` (kid) of --private-key")
	f.StringVar(&o.client.Algorithm, "alg", "", "signature `alg`orithm of --private-key (default: by key type)")
	f.StringVar(&o.client.AssertionFile, "assertion", "", "jwt-bearer: `file` with the assertion")
	f.StringVar(&o.client.Audience, "audience", "", "`audience` of the assertion (default: the issuer)")
	f.StringVar(&o.idp.IDTokenFile, "id-token", "", "id-jag: `file` with the ID token")
	f.StringVar(&o.idp.TokenEndpoint, "idp-token-endpoint", "", "id-jag: `URL` of the identity provider's token endpoint")
	f.StringVar(&o.idp.ClientID, "idp-client-id", "", "id-jag: client `ID` at the identity provider")
	f.StringVar(&o.idpSecretFile, "idp-client-secret-file", "", "id-jag: `file` with its client secret, if it has one")
}

// registrationTokenVariable is the environment variable with the initial access token.
const registrationTokenVariable = "MCPC_REGISTRATION_TOKEN"

// grantWords returns the names of all grants.
func grantWords() []string {
	return sliceutil.Map(auth.Grants, func(g auth.Grant) string { return string(g) })
}

// validate returns an error for flags that exclude each other or have invalid values. It reads the
// files with secrets.
func (o *loginOptions) validate(f *cmdutil.Factory) error {
	hasProof := o.secret != "" || o.secretFile != "" || o.client.KeyFile != "" || o.client.AssertionFile != ""
	if o.grant != "" && !slices.Contains(auth.Grants, auth.Grant(o.grant)) {
		all := wire.Hint("grants are " + strings.Join(grantWords(), ", "))
		hint := suggest.DidYouMean("--grant %s", o.grant, grantWords(), all)
		return usage.New(fmt.Sprintf("unknown grant %q", o.grant), hint)
	}
	if o.secret != "" && o.secretFile != "" {
		return usage.New("--client-secret and --client-secret-file exclude each other", "")
	}
	if o.client.ID == "" && hasProof {
		return usage.New("a secret, a key or an assertion needs a client", "add --client-id ID")
	}
	if o.port < 0 || o.port > 65535 {
		return usage.New(fmt.Sprintf("%d is not a port", o.port), "")
	}
	if err := checkTokenStore(o.store); err != nil {
		return err
	}
	if err := o.checkGrant(); err != nil {
		return err
	}
	if err := o.checkURLs(); err != nil {
		return err
	}
	if err := o.checkParameters(); err != nil {
		return err
	}
	// A later command reads these files again to renew the token, maybe in another directory.
	for _, name := range []*string{&o.client.KeyFile, &o.client.AssertionFile, &o.idp.IDTokenFile} {
		if *name != "" {
			if full, err := filepath.Abs(*name); err == nil {
				*name = full
			}
		}
	}
	var err error
	if o.secretFile != "" {
		o.secret, err = readSecretFile(f, "--client-secret-file", o.secretFile)
	}
	if o.idpSecretFile != "" && err == nil {
		o.idpSecret, err = readSecretFile(f, "--idp-client-secret-file", o.idpSecretFile)
	}
	if err != nil {
		return err
	}
	return o.readRegistrationToken(f)
}

// checkURLs checks --client-metadata-url and --redirect-uri.
func (o *loginOptions) checkURLs() error {
	if o.settings.DocumentURL != "" {
		u, err := auth.SafeURL(o.settings.DocumentURL)
		if err != nil || u.Scheme != "https" || strings.Trim(u.Path, "/") == "" {
			return usage.New("--client-metadata-url must be an https URL with a path", "")
		}
		if strings.Contains(o.settings.DocumentURL, "#") || path.Clean(u.Path) != strings.TrimSuffix(u.Path, "/") {
			return usage.New("--client-metadata-url must have no fragment, and no . or .. in its path", "")
		}
	}
	if o.settings.Redirect == "" {
		return nil
	}
	if err := auth.CheckRedirect(o.settings.Redirect); err != nil {
		return usage.New("--redirect-uri "+o.settings.Redirect+": "+err.Error(),
			"as --redirect-uri http://localhost:8976/callback")
	}
	if u, _ := url.Parse(o.settings.Redirect); u.Port() != "" && o.settings.Port != nil {
		return usage.New("--redirect-uri with a port and --callback-port exclude each other", "")
	}
	return nil
}

// checkParameters parses --authorize-param.
func (o *loginOptions) checkParameters() error {
	flagFor := map[string]string{"scope": "--scope", "resource": "--no-resource", "client_id": "--client-id"}
	for _, parameter := range o.parameters {
		name, value, ok := strings.Cut(parameter, "=")
		if !ok || name == "" {
			return usage.New(fmt.Sprintf("--authorize-param is NAME=VALUE, not %q", parameter),
				"as --authorize-param access_type=offline")
		}
		if flagFor[name] != "" {
			return usage.New("mcpc itself sets the parameter "+name, wire.Hint(flagFor[name]+" changes it"))
		}
		if auth.IsOwnParameter(name) {
			return usage.New("mcpc itself sets the parameter "+name, "")
		}
		if o.settings.Parameters == nil {
			o.settings.Parameters = map[string]string{}
		}
		o.settings.Parameters[name] = value
	}
	return nil
}

// checkTokenStore returns an error for an unknown --token-store.
func checkTokenStore(location string) error {
	if location != "" && location != "keyring" && location != "file" {
		hint := suggest.DidYouMean("--token-store %s", location, []string{"keyring", "file"}, "")
		return usage.New(fmt.Sprintf("--token-store is keyring or file, not %q", location), hint)
	}
	return nil
}

// tokenStoreFlag declares --token-store.
func tokenStoreFlag(cmd *cobra.Command, location *string) {
	cmd.Flags().StringVar(location, "token-store", "",
		"`where` tokens are stored: keyring or file (default: keyring, if available)")
	_ = cmd.RegisterFlagCompletionFunc("token-store", cmdutil.CompleteFixed("keyring", "file"))
}

// checkGrant checks that the flags fit the grant: jwt-bearer and id-jag need flags that other grants
// do not have.
func (o *loginOptions) checkGrant() error {
	enterprise := o.idp != auth.IDP{}
	switch auth.Grant(o.grant) {
	case auth.JWTBearer:
		if o.client.ID != "" && o.client.AssertionFile == "" {
			return usage.New("--grant jwt-bearer needs an assertion", "--assertion FILE")
		}
	case auth.IDJAG:
		if o.client.ID != "" && (o.idp.TokenEndpoint == "" || o.idp.ClientID == "" || o.idp.IDTokenFile == "") {
			return usage.New(
				"--grant id-jag needs the identity provider",
				"--idp-token-endpoint URL --idp-client-id ID --id-token FILE",
			)
		}
		if _, err := auth.SafeURL(o.idp.TokenEndpoint); err != nil && enterprise {
			return usage.New("--idp-token-endpoint must be an https URL", "")
		}
		o.client.IDP = &o.idp
		return nil
	}
	if enterprise || o.idpSecretFile != "" {
		return usage.New("--idp-… and --id-token need --grant id-jag", "")
	}
	return nil
}

// readSecretFile reads a secret from a file without its line end. flag names the file in errors.
func readSecretFile(f *cmdutil.Factory, flag, name string) (string, error) {
	raw, err := f.Env.ReadFile(name, host.MostSecret)
	if err != nil {
		return "", usage.NotRead(flag+" "+name, err, "")
	}
	secret := strings.TrimRight(string(raw), "\r\n")
	if secret == "" {
		return "", usage.New(flag+" "+name+": the file is empty",
			"the file must contain the secret on one line, and nothing else")
	}
	return secret, nil
}

// readRegistrationToken reads the initial access token from its file, or else from the environment.
func (o *loginOptions) readRegistrationToken(f *cmdutil.Factory) error {
	token := f.Getenv(registrationTokenVariable)
	if o.registrationTokenFile != "" {
		var err error
		token, err = readSecretFile(f, "--registration-token-file", o.registrationTokenFile)
		if err != nil {
			return err
		}
	}
	o.registrationToken = strings.TrimSpace(token)
	if strings.ContainsFunc(o.registrationToken, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return usage.New("the initial access token contains characters that are not allowed in a token",
			"pass one word, without \"Bearer\"")
	}
	return nil
}
