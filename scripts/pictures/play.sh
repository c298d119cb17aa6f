#!/usr/bin/env bash
# Runs in the terminal that is photographed: types and runs the commands of a scene.
set -u
printf '\e[?25l'
first=1
while IFS= read -r line <&3; do
  case $line in
  '# '*)
    [[ $first ]] || echo
    printf '\e[2m%s\e[0m\n' "$line" ;;
  '$ '*)
    [[ $first ]] || [[ ${before:-} == '# '* ]] || echo
    printf '\e[1;34m$\e[0m \e[1m%s\e[0m\n' "${line#$ }"
    eval "${line#$ }" 3<&- ;;
  esac
  first= before=$line
done 3<"$1"
touch "$(dirname "$1")/done"
sleep 600
