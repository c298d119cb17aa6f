package clients

import (
	"cmp"
	"slices"
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
	// Count is how often the traffic gives this answer. Exchanges are the numbers of at most MaxProofs exchanges
	// that do, each once.
	Count     int      `json:"count"`
	Exchanges []string `json:"exchanges"`
}

// NotSeen is the value of a fact that the traffic says nothing about.
const NotSeen = "not seen"

// MaxProofs bounds Finding.Exchanges.
const MaxProofs = 20

// Compare returns the clients of some conversations, by their names.
func Compare(all []*Conversation) []*Client {
	var clients []*Client
	for _, c := range all {
		at := slices.IndexFunc(clients, func(other *Client) bool {
			return other.Name == c.Client.Name && other.Version == c.Client.Version && other.Transport == c.Transport
		})
		if at < 0 {
			at = len(clients)
			clients = append(clients, &Client{Name: c.Client.Name, Version: c.Client.Version, Transport: c.Transport})
		}
		clients[at].add(c)
	}
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
	at := slices.IndexFunc(client.Facts, func(f Finding) bool { return f.Name == fact.Name && f.Value == value })
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

// finish sorts the facts, and adds those without an answer. Of several values of a fact, yes is the first, and
// the others are sorted by their texts.
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
