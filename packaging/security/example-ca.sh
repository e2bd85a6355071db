#!/bin/sh
# A small certificate authority for a lab or a pilot: for the broker, the planner and the robots. It needs openssl and nothing else. One call
# at a time: its record is a file.
#
# For labs. Its keys lie in a folder without a password, and whoever has that folder can make a robot, a planner or a broker. With robots at
# customers' homes use an authority whose keys are in hardware, that signs only what a line of production has made, and that keeps a record.
set -eu
umask 077

usage() {
	cat <<'END'
example-ca.sh init DIR                       a new authority in DIR: ca.crt is public, ca.key is what it is all about
example-ca.sh server DIR NAME HOST...        DIR/NAME.crt and NAME.key of a server, good for these host names and addresses
example-ca.sh client DIR NAME                DIR/NAME.crt and NAME.key of a client: planner, for the broker; console, for the planner's HTTP
example-ca.sh sign DIR DEVICE_ID REQUEST     DIR/devices/DEVICE_ID.crt of a robot, for the request that deviceagentctl provision wrote
example-ca.sh revoke DIR CERTIFICATE         a certificate counts no more, and DIR/ca.crl says so
example-ca.sh crl DIR                        DIR/ca.crl anew: it is good for CRL_DAYS only
example-ca.sh list DIR                       what was signed, until when, and what was revoked

The same call again renews. Days, from the environment: AUTHORITY_DAYS 3650, SERVER_DAYS 397, CLIENT_DAYS 397, DEVICE_DAYS 397, CRL_DAYS 30.
END
}

fail() {
	echo "example-ca.sh: $*" >&2
	exit 1
}

# openssl tells much on a good day, and what matters on a bad one: it is shown then only.
quiet() {
	said=$("$@" 2>&1) || fail "$1 $2 did not work: $said"
}

# A name becomes a file, a common name, and at the broker a part of topics, where + and # would stand for those of others.
name_ok() {
	case $1 in
	'' | [!A-Za-z0-9]* | *[!A-Za-z0-9._:-]*) fail "\"$1\" cannot be a name: letters, digits and . _ : - only" ;;
	esac
	[ ${#1} -le 64 ] || fail "\"$1\" is too long for the common name of a certificate: 64 letters at most"
}

authority() {
	[ -f "$1/ca.key" ] || fail "$1 holds no authority: example-ca.sh init $1"
	dir=$1
}

# replace puts a new file in place at once: who reads meanwhile has the old or the new one, and not a half.
replace() { mv -f "$1.new" "$1"; }

config() {
	cat >"$1/openssl.cnf" <<END
[ca]
default_ca = here
[here]
database = $1/index.txt
serial = $1/serial
crlnumber = $1/crlnumber
new_certs_dir = $1/issued
certificate = $1/ca.crt
private_key = $1/ca.key
default_md = sha256
default_days = 397
default_crl_days = 30
unique_subject = no
policy = names
copy_extensions = none
[names]
commonName = supplied
[authority]
basicConstraints = critical,CA:TRUE,pathlen:0
keyUsage = critical,keyCertSign,cRLSign
subjectKeyIdentifier = hash
# A certificate is good for one side only: a stolen robot cannot play the broker, and a stolen broker not the planner.
[server]
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = serverAuth
authorityKeyIdentifier = keyid
subjectAltName = \${ENV::HOSTS}
[client]
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = clientAuth
authorityKeyIdentifier = keyid
[request]
distinguished_name = nothing
prompt = no
[nothing]
END
}

init() {
	[ ! -e "$1/ca.key" ] || fail "$1 holds an authority already: a new one would make all that it has signed worthless"
	mkdir -p "$1/issued" "$1/devices"
	dir=$(cd "$1" && pwd)
	: >"$dir/index.txt"
	openssl rand -hex 16 >"$dir/serial"
	echo 01 >"$dir/crlnumber"
	config "$dir"
	quiet openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$dir/ca.key"
	HOSTS=DNS:none quiet openssl req -x509 -new -config "$dir/openssl.cnf" -section request -key "$dir/ca.key" -days "${AUTHORITY_DAYS:-3650}" \
		-subj "/CN=DeviceAgent example authority $(openssl rand -hex 4)" -extensions authority -out "$dir/ca.crt"
	chmod 644 "$dir/ca.crt"
	crl "$dir"
	tell "$dir/ca.crt"
}

# issue signs a request: KIND NAME DAYS REQUEST TO.
issue() {
	HOSTS=${HOSTS:-DNS:none} quiet openssl ca -batch -notext -config "$dir/openssl.cnf" -extensions "$1" -subj "/CN=$2" -days "$3" -in "$4" -out "$5.new"
	[ -s "$5.new" ] || fail "openssl ca did not sign $4: $said" # it ends with 0 all the same
	chmod 644 "$5.new"
}

# pair makes a key and its certificate: KIND NAME DAYS. The key goes in place before the certificate: who reads in between has two that do not
# belong together, does not take them, and reads again.
pair() {
	to=$dir/$2
	quiet openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$to.key.new"
	HOSTS=${HOSTS:-DNS:none} quiet openssl req -new -config "$dir/openssl.cnf" -section request -key "$to.key.new" -subj "/CN=$2" -out "$to.csr"
	issue "$1" "$2" "$3" "$to.csr" "$to.crt"
	rm "$to.csr"
	replace "$to.key"
	replace "$to.crt"
	tell "$to.crt"
}

server() {
	authority "$1"
	name_ok "$2"
	name=$2
	shift 2
	[ $# -gt 0 ] || fail "a server needs the host names or addresses by which it is reached"
	HOSTS=
	for host; do
		case $host in
		'' | *[!A-Za-z0-9.:*-]*) fail "\"$host\" is no host name and no address" ;;
		*:*) HOSTS=$HOSTS,IP:$host ;;
		*[!0-9.]*) HOSTS=$HOSTS,DNS:$host ;;
		*) HOSTS=$HOSTS,IP:$host ;;
		esac
	done
	HOSTS=${HOSTS#,}
	export HOSTS
	pair server "$name" "${SERVER_DAYS:-397}"
}

client() {
	authority "$1"
	name_ok "$2"
	pair client "$2" "${CLIENT_DAYS:-397}"
}

# sign takes the name from who calls, and holds the request against it: the request of one robot may not bring the name of another. At the
# broker the name planner is that of the planner, which may write to every robot.
sign() {
	authority "$1"
	name_ok "$2"
	[ "$2" != planner ] || fail "planner is the name of the planner: a robot cannot have it"
	case $(openssl req -in "$3" -noout -verify 2>&1) in # it ends with 0 either way
	*"verify OK"*) ;;
	*) fail "$3 is no request, or its signature is not by its key" ;;
	esac
	asks=$(openssl req -in "$3" -noout -subject -nameopt multiline,utf8 | sed -n 's/^ *commonName *= //p')
	[ "$asks" = "$2" ] || fail "$3 asks for the name \"$asks\", not for $2"
	issue client "$2" "${DEVICE_DAYS:-397}" "$3" "$dir/devices/$2.crt"
	replace "$dir/devices/$2.crt"
	tell "$dir/devices/$2.crt"
}

revoke() {
	authority "$1"
	HOSTS=DNS:none quiet openssl ca -batch -config "$dir/openssl.cnf" -revoke "$2"
	crl "$dir"
	echo "revoked: give $dir/ca.crl to the broker, and have it read its files again"
}

crl() {
	authority "$1"
	HOSTS=DNS:none quiet openssl ca -batch -config "$dir/openssl.cnf" -gencrl -crldays "${CRL_DAYS:-30}" -out "$dir/ca.crl.new"
	chmod 644 "$dir/ca.crl.new"
	replace "$dir/ca.crl"
}

# list reads the record: V or R, until, when revoked, serial, file, name.
list() {
	authority "$1"
	awk -F '\t' '
		function day(t) { return "20" substr(t, 1, 2) "-" substr(t, 3, 2) "-" substr(t, 5, 2) }
		{ sub(/^\/CN=/, "", $6); printf "%-24s until %s  %s\n", $6, day($2), $1 == "R" ? "revoked " day($3) : "" }' "$dir/index.txt" | sed 's/ *$//'
}

tell() { openssl x509 -in "$1" -noout -enddate | sed "s|^notAfter=|$1 until |"; }

need() { [ "$1" -ge "$2" ] || { usage >&2; exit 2; }; }

command -v openssl >/dev/null || fail "openssl is not installed"
what=${1:-}
[ $# -eq 0 ] || shift
case $what in
init | crl | list) need $# 1 ;;
server | sign) need $# 3 ;;
client | revoke) need $# 2 ;;
help | -h | --help)
	usage
	exit 0
	;;
*)
	usage >&2
	exit 2
	;;
esac
"$what" "$@"
