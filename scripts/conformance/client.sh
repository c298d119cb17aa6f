#!/usr/bin/env bash
# The client under test: what a person would type for a scenario. The suite
# starts this with the URL of its mock server; conformance.sh sets MCPC (the
# binary), MCPC_STATE, EXITS (where exit statuses go) and NODE.
set -euo pipefail

url=$1
trap 'printf "0 %s client.sh\n" $? >>"$EXITS"' EXIT

# mcpc ARGS...: a command that has to succeed. "ends STATUS mcpc ARGS..." is
# one that has to end otherwise. Either way the next command runs, as it would
# in a person's shell; a line "WANTED GOT COMMAND" keeps what happened.
mcpc() {
  ends 0 mcpc "$@"
}

ends() {
  local wanted=$1 got=0
  shift 2
  printf '\n$ mcpc %s\n' "$*" >&2
  timeout -k 2 10 "$MCPC" "$@" </dev/null || got=$?
  printf '%s %s mcpc %s\n' "$wanted" "$got" "${*//$'\n'/ }" >>"$EXITS"
}

# authorized ARGS... is "mcpc ARGS...", which may end with "authorization required"
# and is then run again after a login, as a user would do. $login holds the arguments
# of the login. The browser is curl, which needs no user.
export BROWSER='curl -sSL --max-time 10 -o /dev/null'
login=()
authorized() {
  local got=0 round
  for round in 1 2 3; do
    got=0
    printf '\n$ mcpc %s\n' "$*" >&2
    timeout -k 2 10 "$MCPC" "$@" </dev/null || got=$?
    if ((got != 4 || round == 3)); then
      break
    fi
    printf '\n$ mcpc login %s\n' "${login[*]}" >&2
    timeout -k 2 20 "$MCPC" login "${login[@]}" </dev/null || { got=$?; break; }
  done
  printf '0 %s mcpc %s\n' "$got" "${*//$'\n'/ }" >>"$EXITS"
}

# stranded is where a login must not succeed: it ends with "authorization", and
# there is nothing more to type.
stranded() {
  ends 4 mcpc init "$url"
  ends 4 mcpc login
}

# look is what a client does at a protected server.
look() {
  authorized init "$url"
  authorized list
  authorized call test-tool
}

# context NAME is a value of the scenario's.
context() {
  "$NODE" -p "JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT)[process.argv[1]]" "$1"
}

case $MCP_CONFORMANCE_SCENARIO in
initialize | request-metadata)
  mcpc init "$url"
  mcpc list
  ;;

tools_call)
  mcpc init "$url"
  mcpc list
  mcpc call add_numbers '{"a":5,"b":3}'
  ;;

sse-retry)
  mcpc init "$url"
  mcpc list
  mcpc call test_reconnection
  ;;

http-standard-headers)
  mcpc init "$url"
  mcpc list
  mcpc call test_headers
  mcpc call my-hyphenated-tool
  mcpc list resources
  mcpc read 'file:///path/to/file%20name.txt'
  mcpc list prompts
  mcpc prompt test_prompt
  ;;

http-custom-headers)
  mcpc init "$url"
  mcpc list
  # The values to send are the suite's. One of them is null, against the
  # tool's schema, and so stays unvalidated.
  "$NODE" -p 'JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT).toolCalls
      .map((call) => call.name + "\t" + JSON.stringify(call.arguments)).join("\n")' |
    while IFS=$'\t' read -r name arguments; do
      mcpc call --no-validate "$name" "$arguments"
    done
  ;;

http-invalid-tool-headers)
  mcpc init "$url"
  mcpc list
  mcpc call valid_tool '{"region":"us-west1"}'
  # Not for lack of trying: the other tools' definitions are invalid.
  ends 3 mcpc call invalid_empty_header '{"value":"x"}'
  ends 3 mcpc call invalid_object_header '{"data":{}}'
  ends 3 mcpc call invalid_array_header '{"items":["x"]}'
  ends 3 mcpc call invalid_null_header '{"nil":null}'
  ends 3 mcpc call invalid_number_header '{"score":1.5}'
  ends 3 mcpc call invalid_duplicate_same_case '{"field1":"x","field2":"y"}'
  ends 3 mcpc call invalid_duplicate_diff_case '{"field1":"x","field2":"y"}'
  ends 3 mcpc call invalid_space_in_name '{"value":"x"}'
  ends 3 mcpc call invalid_colon_in_name '{"value":"x"}'
  ends 3 mcpc call invalid_non_ascii_name '{"value":"x"}'
  ends 3 mcpc call invalid_control_char_name '{"value":"x"}'
  ;;

json-schema-ref-no-deref)
  mcpc init "$url"
  mcpc list
  mcpc describe lookup_user
  # What cannot be checked without fetching is not sent; the mock has no tools/call.
  ends 3 mcpc call lookup_user '{"id":"ada","profile":{}}'
  ends 6 mcpc call --no-validate lookup_user '{"id":"ada","profile":{}}'
  ;;

json-schema-2020-12-preservation)
  mcpc init "$url"
  schema=$(mcpc describe json_schema_2020_12_tool --jq .inputSchema)
  mcpc call json_schema_echo "{\"schema\":$schema}"
  ;;

elicitation-sep1034-client-defaults)
  mcpc init "$url" --answer-defaults
  mcpc list
  mcpc call test_client_elicitation_defaults
  ;;

sep-2322-client-request-state)
  mcpc init "$url" --answer '{"confirmed":true}'
  mcpc list
  mcpc call test_mrtr_echo_state
  mcpc call test_mrtr_unrelated
  mcpc call test_mrtr_no_state
  mcpc call test_mrtr_no_result_type
  ;;

auth/basic-cimd)
  login=(--client-metadata-url https://conformance-test.local/client-metadata.json)
  look
  ;;

auth/pre-registration)
  login=(--client-id "$(context client_id)" --client-secret "$(context client_secret)")
  look
  ;;

auth/client-credentials-basic)
  login=(--grant client_credentials --client-id "$(context client_id)" --client-secret "$(context client_secret)")
  look
  ;;

auth/client-credentials-jwt)
  context private_key_pem >key.pem
  login=(--grant client_credentials --client-id "$(context client_id)" --private-key key.pem --alg "$(context signing_algorithm)")
  look
  ;;

auth/wif-jwt-bearer)
  context valid_jwt >assertion
  login=(--grant jwt-bearer --client-id "$(context client_id)" --assertion assertion)
  look
  ;;

auth/enterprise-managed-authorization)
  context idp_id_token >id-token
  login=(--grant id-jag --client-id "$(context client_id)" --client-secret "$(context client_secret)"
    --idp-token-endpoint "$(context idp_token_endpoint)" --idp-client-id "$(context idp_client_id)" --id-token id-token)
  look
  ;;

auth/dpop)
  login=(--dpop)
  look
  ;;

auth/resource-mismatch | auth/metadata-issuer-mismatch | auth/iss-supported-missing | auth/iss-wrong-issuer | \
  auth/iss-unexpected | auth/iss-normalized)
  stranded
  ;;

auth/scope-retry-limit)
  ends 4 mcpc init "$url"
  mcpc login
  # The token has the scope, the server asks for it all the same, and no login is
  # offered again.
  ends 4 mcpc init "$url"
  ends 2 mcpc login
  ;;

auth/*) look ;;

sep-2640-client-no-prefetch)
  mcpc -s "$url" skills list
  ;;

sep-2640-client-verify-digest | sep-2640-client-verify-size | sep-2640-client-verify-frontmatter)
  ends 10 mcpc -s "$url" skills verify pdf-processing
  ;;

*)
  echo "client.sh: nothing to type for $MCP_CONFORMANCE_SCENARIO" >&2
  exit 2
  ;;
esac
