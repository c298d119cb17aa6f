package auth

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"mcpc/internal/wire"
)

// A File stores bytes that no other user may read, with mode 0600. It is replaced as a whole.
type File interface {
	// Read returns the bytes of the last Update, or nil if there was no Update.
	Read() ([]byte, error)
	// Update replaces the bytes under a lock.
	Update(ctx context.Context, change func(old []byte) ([]byte, error)) error
	// Lock acquires another lock, which does not block Read and Update. It is for work that takes
	// longer and that only one process may do.
	Lock(ctx context.Context) (release func(), err error)
}

// A Store keeps tokens and clients in a file. Their secrets are in plain text or encrypted with the
// keyring's key.
type Store struct {
	File File
	// Keyring encrypts and decrypts secrets. It may be nil if no secret is encrypted.
	Keyring *Keyring
	// Seals is set if new secrets are encrypted.
	Seals bool
}

// Records are the contents of the store. Their secrets are in their stored form.
type Records struct {
	Version int      `json:"version"`
	Tokens  []Token  `json:"tokens,omitempty"`
	Clients []Client `json:"clients,omitempty"`
	// Settings are the settings of the last logins.
	Settings []Remembered `json:"settings,omitempty"`
	// Pending is the challenge that no login has answered yet, or nil.
	Pending *Pending `json:"pending,omitempty"`
	// Opened are the browsers that were opened without a command of the user in the last hour.
	Opened []Opening `json:"opened,omitempty"`
}

const recordsVersion = 1

// maxRecordsSize limits the file, which each command reads: servers choose some of its contents.
const maxRecordsSize = 4 << 20

// A Token is an access token and what is needed to use and renew it. It belongs to one account of
// the user, and is valid for one resource, issuer and client.
type Token struct {
	Issuer   string `json:"issuer"`
	Resource string `json:"resource"`
	// OmitResource is set if requests do not name the resource.
	OmitResource bool   `json:"omit_resource,omitempty"`
	Client       string `json:"client"`
	Account      string `json:"account,omitempty"`
	// Endpoint is the MCP server's URL at the login.
	Endpoint string `json:"endpoint"`
	Grant    Grant  `json:"grant"`
	// Since is when the user logged in; a renewal keeps it. Two logins may be of two users.
	Since   time.Time `json:"since,omitzero"`
	Access  Secret    `json:"access"`
	Refresh Secret    `json:"refresh,omitempty"`
	// Key is the key that the token is bound to, or "" if the token is a bearer token.
	Key Secret `json:"dpop_key,omitempty"`
	// Expires is zero if the server named no time. OddExpiry is the server's value if it is not a time,
	// such as 0.
	Expires   time.Time `json:"expires,omitzero"`
	OddExpiry string    `json:"odd_expiry,omitempty"`
	// Scopes were granted, Requested were requested.
	Scopes    []string `json:"scopes,omitempty"`
	Requested []string `json:"requested,omitempty"`
	// TokenEndpoint, Methods and Revocation are from the issuer's metadata.
	TokenEndpoint string   `json:"token_endpoint"`
	Methods       []string `json:"methods,omitempty"`
	// Revocation is the issuer's revocation endpoint, or "".
	Revocation string `json:"revocation_endpoint,omitempty"`
}

// withResource adds the resource to a request for the token, unless it is omitted, and returns form.
func (t Token) withResource(form url.Values) url.Values {
	if !t.OmitResource {
		form.Set("resource", t.Resource)
	}
	return form
}

// A Pending is a challenge that a command could not answer.
type Pending struct {
	Endpoint string    `json:"endpoint"`
	Account  string    `json:"account,omitempty"`
	Status   int       `json:"status"`
	Fields   []string  `json:"www_authenticate,omitempty"`
	At       time.Time `json:"at,omitzero"`
}

// An Opening is a browser that was opened for a login.
type Opening struct {
	Endpoint string    `json:"endpoint"`
	Account  string    `json:"account,omitempty"`
	At       time.Time `json:"at"`
	// IsOver is set if the process that opened the browser has ended: the page cannot log in anymore.
	IsOver bool `json:"isOver,omitempty"`
}

// isFor reports whether the browser was opened for a server and account.
func (o *Opening) isFor(endpoint, account string) bool {
	return o.Endpoint == endpoint && o.Account == account
}

// A browser is opened once per browserInterval without a command of the user, or maxOpenings times if the
// processes that opened the others have ended.
const (
	browserInterval = time.Hour
	maxOpenings     = 3
)

// ClaimBrowser reports whether a browser may be opened for a login that the user has not started, and
// stores that it is opened: once per server and account in browserInterval, over all processes that run,
// and only while no other token than the refused one is stored.
func (s *Store) ClaimBrowser(
	ctx context.Context, endpoint, account string, refused Secret, now time.Time,
) (bool, error) {
	mayOpen := false
	err := s.Change(ctx, func(b *Records) {
		b.Opened = slices.DeleteFunc(b.Opened, func(o Opening) bool { return now.Sub(o.At) >= browserInterval })
		t, hasToken := b.Token(endpoint, account)
		mayOpen = !hasToken || t.Access == refused
		count := 0
		for _, o := range b.Opened {
			if o.isFor(endpoint, account) {
				count++
				mayOpen = mayOpen && o.IsOver && count < maxOpenings
			}
		}
		if mayOpen {
			b.Opened = append(b.Opened, Opening{Endpoint: endpoint, Account: account, At: now})
		}
	})
	return mayOpen && err == nil, err
}

// ReleaseBrowser stores that the process that opened a browser for a login has ended.
func (s *Store) ReleaseBrowser(ctx context.Context, endpoint, account string) error {
	return s.Change(ctx, func(b *Records) {
		for i := range b.Opened {
			if b.Opened[i].isFor(endpoint, account) {
				b.Opened[i].IsOver = true
			}
		}
	})
}

// Load reads the store. It returns empty Records if the file does not exist.
func (s *Store) Load() (Records, error) {
	raw, err := s.File.Read()
	if err != nil {
		return Records{}, storeError(err)
	}
	return readRecords(raw)
}

// readRecords parses the file's contents; an empty file has empty Records. It returns an error for a
// damaged file, or a file of a newer version.
func readRecords(raw []byte) (b Records, err error) {
	if len(raw) == 0 {
		return Records{}, nil
	}
	if err := json.Unmarshal(raw, &b); err != nil {
		return Records{}, &Error{
			Rule: StoreFailed,
			Text: "the token file is damaged",
			Hint: wire.Run("sessions repair") + " replaces it and keeps the old file",
			Err:  err,
		}
	}
	if b.Version > recordsVersion {
		return Records{}, &Error{Rule: StoreFailed, Text: "the token file was written by a newer mcpc"}
	}
	return b, nil
}

// IsDamaged reports whether raw is not the contents of a store of any version.
func IsDamaged(raw []byte) bool {
	return len(raw) > 0 && json.Unmarshal(raw, &Records{}) != nil
}

// Change reads, changes and writes the records under the file's lock.
func (s *Store) Change(ctx context.Context, change func(*Records)) error {
	err := s.File.Update(ctx, func(old []byte) ([]byte, error) {
		b, err := readRecords(old)
		if err != nil {
			return nil, err
		}
		change(&b)
		b.Version = recordsVersion
		raw, err := json.MarshalIndent(b, "", "\t")
		if len(raw) > max(maxRecordsSize, len(old)) { // a file that is too large may still be reduced
			return nil, &Error{
				Rule: StoreFailed,
				Text: "the token file would be larger than 4 MiB; it was not changed",
				Hint: wire.Run("auth") + " lists the tokens, " + wire.Run("auth logout TARGET") + " deletes one",
			}
		}
		return raw, err
	})
	return storeError(err)
}

// Reset deletes all records, also of a damaged file.
func (s *Store) Reset(ctx context.Context) error {
	empty := func([]byte) ([]byte, error) { return json.Marshal(Records{Version: recordsVersion}) }
	return storeError(s.File.Update(ctx, empty))
}

// storeError returns err as an [Error] with the hint of the file, if it has one. It returns nil if
// err is nil.
func storeError(err error) error {
	if _, own := err.(*Error); err == nil || own {
		return err
	}
	failed := &Error{Rule: StoreFailed, Text: err.Error(), Err: err}
	if hinted, ok := err.(interface{ Hint() wire.Hint }); ok { // such as another directory for the file
		failed.Hint = hinted.Hint()
	}
	return failed
}

// Token returns the token to send to a URL: of the account's tokens whose resource covers the URL
// the one with the narrowest resource, and of several for the same resource the newest.
func (b *Records) Token(at, account string) (best Token, ok bool) {
	for _, t := range b.Tokens {
		isCandidate := t.Account == account && Covers(t.Resource, at)
		isBetter := !ok || Covers(best.Resource, t.Resource) // narrower, or the same and newer
		if isCandidate && isBetter {
			best = t
			ok = true
		}
	}
	return best, ok
}

// putToken stores a token. It replaces the account's token for the same resource, also of another
// issuer or client, and allows the next login of the server to open a browser.
func (b *Records) putToken(t Token) {
	b.Drop(func(old Token) bool { return old.Account == t.Account && old.Resource == t.Resource })
	b.Tokens = append(b.Tokens, t)
	b.Opened = slices.DeleteFunc(b.Opened, func(o Opening) bool {
		return o.Account == t.Account && Covers(t.Resource, o.Endpoint)
	})
}

// Drop deletes the matching tokens and returns their number.
func (b *Records) Drop(matches func(Token) bool) int {
	before := len(b.Tokens)
	b.Tokens = slices.DeleteFunc(b.Tokens, matches)
	return before - len(b.Tokens)
}

// newestClient returns the newest client for an issuer, origin and grant.
func (b *Records) newestClient(issuer string, origin Origin, g Grant) (newest Client, ok bool) {
	for _, c := range b.Clients {
		if c.Issuer == issuer && c.Origin == origin && c.Grant == g {
			newest = c
			ok = true
		}
	}
	return newest, ok
}

// scopesOf returns the scopes that a client may request: the scopes of its registration and of
// earlier tokens.
func (b *Records) scopesOf(c Client) []string {
	all := c.Scopes
	for _, t := range b.Tokens {
		if c.owns(t) {
			all = union(all, t.Requested)
		}
	}
	return all
}

// clientOf returns the client that a token was issued to. A client that is not stored, such as one with a
// metadata document, has no secret.
func (b *Records) clientOf(t Token) Client {
	i := slices.IndexFunc(b.Clients, func(c Client) bool { return c.owns(t) })
	if i < 0 {
		return Client{Issuer: t.Issuer, ID: t.Client}
	}
	return b.Clients[i]
}

// putClient stores a client. It replaces the clients of the same issuer, origin and grant that have
// no token. It does not store a client with a metadata document, which its URL identifies.
func (b *Records) putClient(c Client) {
	if c.Origin == Document {
		return
	}
	b.Clients = slices.DeleteFunc(b.Clients, func(old Client) bool {
		isAlike := old.Issuer == c.Issuer && old.Origin == c.Origin && old.Grant == c.Grant
		hasToken := slices.ContainsFunc(b.Tokens, old.owns)
		return isAlike && (old.ID == c.ID || !hasToken)
	})
	b.Clients = append(b.Clients, c)
}

// A Secret is a secret in its stored form: plain text or encrypted.
type Secret string

const (
	plainMark  = "plain:"
	sealedMark = "sealed:"
)

// IsSealed reports whether the secret is encrypted with the keyring's key.
func (s Secret) IsSealed() bool { return strings.HasPrefix(string(s), sealedMark) }

// Seal returns the stored form of a secret, or "" if text is "".
func (s *Store) Seal(text string) (Secret, error) {
	if text == "" {
		return "", nil
	}
	if !s.Seals {
		return Secret(plainMark + text), nil
	}
	sealed, err := s.Keyring.seal(text)
	return Secret(sealedMark + sealed), err
}

// Open returns the secret of a stored form.
func (s *Store) Open(stored Secret) (string, error) {
	if text, ok := strings.CutPrefix(string(stored), sealedMark); ok {
		if s.Keyring == nil {
			return "", keyringError(nil)
		}
		return s.Keyring.open(text)
	}
	return strings.TrimPrefix(string(stored), plainMark), nil
}
