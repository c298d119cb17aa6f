package rules

import "testing"

func TestSecret(t *testing.T) {
	for text, want := range map[string]string{
		"password": "password", "userPassword": "Password", "api_key": "api key", "apiKey": "api Key", "X-API-KEY": "API KEY", "accessToken": "access Token",
		"token": "token", "ssn": "ssn", "cardNumber": "card Number", "Your PIN": "PIN", "client-secret": "client secret", "credentials": "credentials",
		"page_token": "", "nextPageToken": "", "max_tokens": "", "token_count": "", "key": "", "keyboard": "", "secretary": "", "passenger": "", "opinion": "", "monkey": "",
		"Do not give us your phone number, pin, or other data": "", "Not empty. Your pin": "pin",
		"password_policy": "", "name": "",
	} {
		if got := findSecret(text); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}
