// Package control is the way from a view to the commands that pass messages on: each tap and proxy
// listens on a Unix socket, where a view holds messages, lets them go, and changes fault rules.
package control
