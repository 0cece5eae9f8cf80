#!/usr/bin/env bash
# kdc.sh DIR start|stop
# A throw-away Kerberos realm on 127.0.0.1, without touching /etc/krb5.conf: WASMILL.TEST, or KDC_REALM. Principals, each
# with its keytab: kafka/localhost (kafka.keytab), kudu/127.0.0.1 and kudu/localhost (kudu.keytab), alice, mallory, kudu-admin,
# etl/worker1 (etl.keytab; a principal of two parts, as services have it).
set -euo pipefail
. "$(dirname "$0")/lib.sh"
[ $# -ge 2 ] || die "usage: kdc.sh DIR start|stop"
mkdir -p "$1"
dir=$(cd "$1" && pwd)
case $2 in
  stop | kill) stop_pid "$dir"; exit ;;
  start) ;;
  *) die "no such command: $2" ;;
esac
alive "$dir" && exit 0
PATH=$PATH:/usr/sbin
command -v krb5kdc >/dev/null || die "krb5kdc is missing: apt-get install krb5-kdc krb5-admin-server krb5-user"
read -r port < <(ports "$dir" 1)
realm=${KDC_REALM:-WASMILL.TEST}
export KRB5_CONFIG=$dir/krb5.conf KRB5_KDC_PROFILE=$dir/kdc.conf
if [ ! -e "$dir/principal" ]; then
  chmod 700 "$dir"
  cat >"$dir/krb5.conf" <<C
[libdefaults]
    default_realm = $realm
    dns_lookup_kdc = false
    dns_lookup_realm = false
    dns_canonicalize_hostname = false
    rdns = false
    ignore_acceptor_hostname = true
    udp_preference_limit = 1
    ticket_lifetime = 24h
[realms]
    $realm = {
        kdc = 127.0.0.1:$port
    }
C
  cat >"$dir/kdc.conf" <<C
[kdcdefaults]
    kdc_listen = 127.0.0.1:$port
    kdc_tcp_listen = 127.0.0.1:$port
[realms]
    $realm = {
        database_name = $dir/principal
        key_stash_file = $dir/stash
        acl_file = $dir/kadm5.acl
        supported_enctypes = aes256-cts-hmac-sha1-96:normal aes128-cts-hmac-sha1-96:normal
    }
[logging]
    kdc = FILE:$dir/kdc.log
C
  : >"$dir/kadm5.acl"
  {
    kdb5_util create -s -r $realm -P masterpw
    kadmin.local -q "addprinc -randkey kafka/localhost"
    kadmin.local -q "ktadd -k $dir/kafka.keytab kafka/localhost"
    for p in kudu/127.0.0.1 kudu/localhost; do
      kadmin.local -q "addprinc -randkey $p"
      kadmin.local -q "ktadd -k $dir/kudu.keytab $p"
    done
    for u in alice mallory kudu-admin etl/worker1; do
      kadmin.local -q "addprinc -randkey $u"
      kadmin.local -q "ktadd -k $dir/${u%/*}.keytab $u"
    done
  } >"$dir/setup.log" 2>&1 || { cat "$dir/setup.log" >&2; die "cannot make the realm"; }
fi
setsid nohup krb5kdc -n >>"$dir/kdc.out" 2>&1 </dev/null &
echo $! >"$dir/pid"
cat >"$dir/env" <<P
WASMILL_KDC=$dir
P
answers() { (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; }
wait_for 20 "$dir" "$dir/kdc.out" answers
