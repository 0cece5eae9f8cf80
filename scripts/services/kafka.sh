#!/usr/bin/env bash
# kafka.sh DIR start|stop|kill
# One Apache Kafka broker and controller (KRaft) on 127.0.0.1, its data in DIR. Listeners: plain text, SSL (client
# certificates accepted), SASL over SSL (PLAIN, SCRAM-SHA-256, SCRAM-SHA-512) and, with KDC_DIR set to a folder of
# kdc.sh, SASL with GSSAPI. KAFKA_ADVERTISED=host:port is what it tells its plain text clients to come to (a proxy).
# Users: alice, password alice-secret. Everybody may do what no ACL forbids. `kill` ends it without a chance to say good-bye.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
[ $# -ge 2 ] || die "usage: kafka.sh DIR start|stop|kill"
mkdir -p "$1"
dir=$(cd "$1" && pwd)
case $2 in
  stop) stop_pid "$dir"; exit ;;
  kill) stop_pid "$dir" KILL; exit ;;
  start) ;;
  *) die "no such command: $2" ;;
esac
alive "$dir" && exit 0

version=$(sed -n "s/.*<kafka.version>\([^<]*\)<.*/\1/p" "$here/kafka-broker/pom.xml")
libs=$cache/kafka-$version
if [ ! -f "$libs/.ok" ]; then
  echo "== fetching Kafka $version from Maven" >&2
  mkdir -p "$libs"
  (cd "$here/kafka-broker" && mvn -q -B dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$libs" >&2)
  touch "$libs/.ok"
fi
read -r plain controller ssl sasl gss < <(ports "$dir" 5)
tls "$dir/tls"
jaas_plain='org.apache.kafka.common.security.plain.PlainLoginModule required username="admin" password="admin-secret" user_admin="admin-secret" user_alice="alice-secret";'
jaas_scram='org.apache.kafka.common.security.scram.ScramLoginModule required;'
gss_listener= gss_advertised=
java_opts=()
if [ -n "${KDC_DIR:-}" ]; then
  gss_listener=",GSS://127.0.0.1:$gss"
  gss_advertised=",GSS://localhost:$gss"
  java_opts+=("-Djava.security.krb5.conf=$KDC_DIR/krb5.conf")
fi
cat >"$dir/server.properties" <<P
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$controller
listeners=PLAINTEXT://127.0.0.1:$plain,CONTROLLER://127.0.0.1:$controller,SSL://127.0.0.1:$ssl,SASLSSL://127.0.0.1:$sasl$gss_listener
advertised.listeners=PLAINTEXT://${KAFKA_ADVERTISED:-127.0.0.1:$plain},SSL://127.0.0.1:$ssl,SASLSSL://127.0.0.1:$sasl$gss_advertised
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASLSSL:SASL_SSL,GSS:SASL_PLAINTEXT
ssl.keystore.type=PEM
ssl.keystore.location=$dir/tls/server-chain.pem
ssl.truststore.type=PEM
ssl.truststore.location=$dir/tls/ca.pem
ssl.client.auth=requested
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
listener.name.saslssl.plain.sasl.jaas.config=$jaas_plain
listener.name.saslssl.scram-sha-256.sasl.jaas.config=$jaas_scram
listener.name.saslssl.scram-sha-512.sasl.jaas.config=$jaas_scram
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
allow.everyone.if.no.acl.found=true
super.users=User:ANONYMOUS
log.dirs=$dir/data
num.partitions=2
auto.create.topics.enable=false
delete.topic.enable=true
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
num.network.threads=2
num.io.threads=4
log.segment.bytes=268435456
log.retention.hours=24
controlled.shutdown.enable=false
P
if [ -n "$gss_listener" ]; then
  cat >>"$dir/server.properties" <<P
listener.name.gss.sasl.enabled.mechanisms=GSSAPI
listener.name.gss.sasl.kerberos.service.name=kafka
listener.name.gss.gssapi.sasl.jaas.config=com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true keyTab="$KDC_DIR/kafka.keytab" principal="kafka/localhost@WASMILL.TEST";
P
fi
java_opts+=(-Xms128m "-Xmx${KAFKA_HEAP_MB:-512}m" -XX:+UseG1GC -XX:MaxGCPauseMillis=20 -cp "$(printf '%s:' "$libs"/*.jar)")
if [ ! -f "$dir/data/meta.properties" ]; then
  java "${java_opts[@]}" kafka.tools.StorageTool format -t "d2FzbWlsbC10ZXN0LWlkCg" -c "$dir/server.properties" \
    --add-scram 'SCRAM-SHA-256=[name=alice,password=alice-secret]' \
    --add-scram 'SCRAM-SHA-512=[name=alice,password=alice-secret]' >"$dir/format.log" 2>&1 ||
    { cat "$dir/format.log" >&2; die "cannot format the data folder"; }
fi
setsid nohup java "${java_opts[@]}" kafka.Kafka "$dir/server.properties" >>"$dir/broker.log" 2>&1 </dev/null &
echo $! >"$dir/pid"
cat >"$dir/env" <<P
WASMILL_KAFKA=127.0.0.1:$plain
WASMILL_KAFKA_SSL=127.0.0.1:$ssl
WASMILL_KAFKA_SASL=127.0.0.1:$sasl
WASMILL_KAFKA_GSS=${gss_listener:+localhost:$gss}
WASMILL_KAFKA_TLS=$dir/tls
P
wait_for 90 "$dir" "$dir/broker.log" kcat -b "127.0.0.1:$plain" -L -m 2
