#!/bin/sh
# Collect read-only facts about one pod. Usage: pod_snapshot.sh NAMESPACE POD
set -u
[ $# -eq 2 ] || { echo "usage: $0 NAMESPACE POD" >&2; exit 2; }
ns=$1 pod=$2 out="$2-snapshot.txt"

section() {
	printf '\n==== %s\n' "$*"
	"$@" 2>&1
}

{
	section kubectl config current-context
	section kubectl get pod "$pod" -n "$ns" -o wide
	section kubectl describe pod "$pod" -n "$ns"
	section kubectl get events -n "$ns" --field-selector "involvedObject.name=$pod" --sort-by=.lastTimestamp
	section kubectl logs "$pod" -n "$ns" --all-containers --tail=200
	section kubectl logs "$pod" -n "$ns" --all-containers --tail=200 --previous
	section kubectl top pod "$pod" -n "$ns" --containers
} >"$out"
echo "$out (read it for secrets before sharing)"
