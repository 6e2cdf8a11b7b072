#!/bin/bash
# What starts the Kafka that stands for the image apache/kafka (engine.sh): settings are KAFKA_…, as there. As kafka-broker-api-versions.sh it asks
# whether the port of its address answers.
set -eu
if [ "$(basename "$0")" = kafka-broker-api-versions.sh ]; then
  exec 3<> "/dev/tcp/${2%:*}/${2#*:}"
  exit
fi
config=/opt/kafka/config/server.properties
env | sed -n 's/^KAFKA_//p' | while IFS='=' read -r name value; do
  name=${name,,}
  echo "${name//_/.}=$value"
done > "$config"
java() { command java -cp '/opt/kafka/libs/*' "$@"; }
[ -e "$KAFKA_LOG_DIRS/meta.properties" ] || java kafka.tools.StorageTool format -t "$(java kafka.tools.StorageTool random-uuid)" -c "$config"
exec /usr/bin/java -Dorg.slf4j.simpleLogger.defaultLogLevel=info -Xmx1g -cp '/opt/kafka/libs/*' kafka.Kafka "$config"
