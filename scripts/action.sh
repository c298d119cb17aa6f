#!/usr/bin/env bash
# The steps of action.yml, which describes the inputs. They are environment variables here, so that
# the steps can be tried without GitHub:
#
#   SERVER='node dist/server.js' scripts/action.sh
#
# Everything is run even if a part fails. The exit code is that of the first part that failed.
set -uo pipefail
mcpc=${MCPC:-mcpc}
wait=${WAIT:-30s}
lock=${LOCK:-mcpc.lock.json}
reports=${REPORTS:-mcpc-reports}
status=0
server_pid=

# error MESSAGE reports an error. GitHub shows it beside the run.
error() { echo "${GITHUB_ACTIONS:+::error title=mcpc::}$1"; }

output() { [[ -z ${GITHUB_OUTPUT:-} ]] || echo "$1=$2" >>"$GITHUB_OUTPUT"; }

# part NAME COMMAND... runs a part and remembers the first exit code that is not 0.
part() {
	local name=$1 code=0
	shift
	echo "${GITHUB_ACTIONS:+::group::}$name"
	"$@" || code=$?
	[[ -z ${GITHUB_ACTIONS:-} ]] || echo "::endgroup::"
	((code == 0)) && return
	explain "$name" "$code"
	((status)) || status=$code
}

# explain NAME CODE says what to change in the workflow.
explain() {
	case $2 in
	1) error "$1: there are findings, see the log and $reports/" ;;
	4)
		if [[ ${FROM_FORK:-} == true && -z ${TOKEN:-} ]]; then
			error "$1: the server needs a login, and GitHub gives no secrets to pull requests of forks. Skip them: if: github.event.pull_request.head.repo.fork != true"
		elif [[ -z ${TOKEN:-} ]]; then
			error "$1: the server needs a login. Add the line to the step: token: \${{ secrets.MCP_TOKEN }}"
		else
			error "$1: the server does not accept the token of the line token:"
		fi
		;;
	7 | 9) error "$1: the server does not answer (exit code $2). ${START:+Its output is in $reports/server.log. }Change the line ${START:+start: or }server:" ;;
	*) error "$1: exit code $2, see mcpc help exit-codes" ;;
	esac
}

# stop ends the server and its children, which are a process group.
stop() {
	[[ -z $server_pid ]] || kill -- "-$server_pid" 2>/dev/null
}
trap stop EXIT

if [[ -z ${SERVER:-} ]]; then
	error "which server? Add the line to the step: server: http://localhost:3001/mcp"
	exit 2
fi
if ! "$mcpc" version >/dev/null 2>&1; then
	error "$mcpc is not mcpc. Change the line mcpc:, or leave it out"
	exit 2
fi
mkdir -p "$reports" || exit 2
[[ -z ${TOKEN:-} ]] || export MCPC_TOKEN=$TOKEN
# The outputs are for steps that run in the workspace's root, not in the working directory.
output_dir=$reports
[[ ${DIRECTORY:-.} == . || $reports == /* || $reports == [A-Za-z]:* ]] || output_dir=$DIRECTORY/$reports
output reports "$output_dir"

# A command is a stdio server, which each part starts for itself.
if [[ $SERVER == *://* ]]; then
	target=(-s "$SERVER")
	if [[ -n ${START:-} ]]; then
		set -m
		bash -c "$START" >"$reports/server.log" 2>&1 &
		set +m
		server_pid=$!
	fi
	part "wait for the server" "$mcpc" ping --wait "$wait" "${target[@]}"
	if ((status)); then
		[[ ! -s $reports/server.log ]] || tail -n 20 "$reports/server.log"
		exit "$status"
	fi
else
	target=(-- bash -c "$SERVER")
fi

# Names of files cannot contain blanks in the line run:.
read -ra files <<<"${RUN:-}"
if ((${#files[@]} == 0)); then
	shopt -s nullglob
	files=(*.mcpc.yaml)
fi
if ((${#files[@]})); then
	part "saved calls" "$mcpc" run "${files[@]}" --junit "$reports/report.xml" "${target[@]}"
fi

if [[ ${CHECK:-true} == true ]]; then
	read -ra flags <<<"${CHECK_FLAGS:-}"
	part "specification" "$mcpc" check ${flags[@]+"${flags[@]}"} --junit "$reports/check.xml" --sarif "$reports/check.sarif" "${target[@]}"
fi
# There is no SARIF file if the server could not be checked: an empty one would close all alerts.
if [[ -s $reports/check.sarif ]]; then
	output sarif "$output_dir/check.sarif"
	if [[ ${UPLOAD:-true} != true ]]; then
		:
	elif [[ ${FROM_FORK:-} == true ]]; then
		echo "${GITHUB_ACTIONS:+::notice title=mcpc::}the findings are not shown as alerts: GitHub gives pull requests of forks no permission to do so"
	else
		output upload true
	fi
fi

if [[ -f $lock ]]; then
	part "changes" "$mcpc" diff --github --markdown "$reports/diff.md" "$lock" "${target[@]}"
fi
if [[ -n ${GITHUB_STEP_SUMMARY:-} && -s $reports/diff.md ]]; then
	cat "$reports/diff.md" >>"$GITHUB_STEP_SUMMARY"
fi
exit "$status"
