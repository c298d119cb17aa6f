package clients

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// A Client is a client with the answers to all Facts from all of its conversations over one transport.
type Client struct {
	Name          string `json:"name"`
	Version       string `json:"version"`
	Transport     string `json:"transport"`
	Conversations int    `json:"conversations"`
	Requests      int    `json:"requests"`
	// Facts are in the order of the table Facts. A fact with several values has several entries.
	Facts []Finding `json:"facts"`
}

// A Finding is a value of a fact, with its proof.
type Finding struct {
	Name     string `json:"name"`
	Question string `json:"question"`
	// Value is NotSeen if nothing in the traffic answers the question.
	Value string `json:"value"`
	// Count is how often the traffic gives this answer. Exchanges are the numbers of at most
	// MaxProofs exchanges that do, each once.
	Count     int      `json:"count"`
	Exchanges []string `json:"exchanges"`
}

// NotSeen is the value of a fact if the traffic has no evidence for or against it. NotTried is its value
// if the server was a probe and the client did not use the part of it that tests the fact.
const (
	NotSeen  = "not seen"
	NotTried = "not tried"
)

// IsSeen reports whether the traffic answers the question.
func (f Finding) IsSeen() bool { return f.Value != NotSeen && f.Value != NotTried }

// IsBad reports whether the value means that the client does not do what it should.
func (f Finding) IsBad() bool {
	if f.Name == repeatedCalls {
		return f.Value == yes
	}
	isNot := strings.HasPrefix(f.Value, not) && f.IsSeen()
	return f.Value == no || f.Value == stops || f.Value == early || isNot
}

// IsGood reports whether the value means that the client does what it should. Most values are neither good
// nor bad, such as a revision.
func (f Finding) IsGood() bool { return !f.IsBad() && (f.Value == yes || f.Value == no) }

const (
	// MaxProofs bounds Finding.Exchanges.
	MaxProofs = 20
	// maxValues bounds the values of a fact. All others count as moreValues.
	maxValues  = 20
	moreValues = "more values"
)

// Compare returns the clients of some conversations, by their names.
func Compare(all []*Conversation) []*Client {
	type id struct{ name, version, transport string }
	byID := map[id]*Client{}
	for _, c := range all {
		key := id{c.Client.Name, c.Client.Version, c.Transport}
		if byID[key] == nil {
			byID[key] = &Client{Name: key.name, Version: key.version, Transport: key.transport}
		}
		byID[key].add(c)
	}
	clients := slices.Collect(maps.Values(byID))
	for _, client := range clients {
		client.finish()
	}
	slices.SortFunc(clients, func(a, b *Client) int {
		return cmp.Or(
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Transport, b.Transport))
	})
	return clients
}

// add adds the answers of a conversation.
func (client *Client) add(c *Conversation) {
	client.Conversations++
	for _, e := range c.Events {
		if e.isRequest() {
			client.Requests++
		}
		for _, fact := range Facts {
			if value, proof := fact.find(c, e); value != "" {
				client.addAnswer(fact, value, proof.Exchange)
			}
		}
	}
}

// addAnswer adds an answer that an exchange proves.
func (client *Client) addAnswer(fact Fact, value, number string) {
	values := 0
	at := slices.IndexFunc(client.Facts, func(f Finding) bool {
		if f.Name == fact.Name {
			values++
		}
		return f.Name == fact.Name && f.Value == value
	})
	if at < 0 && values >= maxValues && value != moreValues {
		client.addAnswer(fact, moreValues, number)
		return
	}
	if at < 0 {
		at = len(client.Facts)
		client.Facts = append(client.Facts, Finding{Name: fact.Name, Question: fact.Question, Value: value})
	}
	f := &client.Facts[at]
	f.Count++
	if len(f.Exchanges) < MaxProofs && !slices.Contains(f.Exchanges, number) {
		f.Exchanges = append(f.Exchanges, number)
	}
}

// finish sorts the facts, and adds those without an answer. Of several values of a fact, yes is the
// first, and the others are sorted by their texts.
func (client *Client) finish() {
	var sorted []Finding
	for _, fact := range Facts {
		var values []Finding
		for _, f := range client.Facts {
			if f.Name == fact.Name {
				values = append(values, f)
			}
		}
		if len(values) == 0 {
			values = []Finding{{Name: fact.Name, Question: fact.Question, Value: NotSeen, Exchanges: []string{}}}
		}
		slices.SortFunc(values, func(a, b Finding) int {
			if (a.Value == yes) != (b.Value == yes) {
				return cmp.Compare(b.Value, yes) // b is yes, or a is
			}
			return cmp.Compare(a.Value, b.Value)
		})
		sorted = append(sorted, values...)
	}
	client.Facts = sorted
}
