// Package hold keeps messages back that cross between a client and a server, until a user has
// looked at them: a Desk decides about each message that a filter wants.
package hold
